package memory

import (
	"strings"
	"unicode/utf8"
)

// item is a token of a query: a term, or an operator ("OR", "AND", "NOT", and "-" for the minus before a term).
type item struct {
	op   string
	term term
}

// parseSyntax reads words, "phrases", prefixes*, -words and NOT, AND, OR. It fails on whatever does not fit.
func parseSyntax(text string) (q query, ok bool) {
	items, ok := lex(text)
	if !ok {
		return q, false
	}
	for i := 0; i < len(items); i++ {
		switch items[i].op {
		case "":
			clause := []term{items[i].term}
			for i+2 < len(items) && items[i+1].op == "OR" && items[i+2].op == "" {
				clause = append(clause, items[i+2].term)
				i += 2
			}
			q.add(clause)
		case "NOT", "-":
			if i++; i == len(items) || items[i].op != "" {
				return q, false
			}
			q.without = append(q.without, items[i].term)
		case "AND":
			if i == 0 || i+1 == len(items) || items[i-1].op != "" || items[i+1].op == "AND" || items[i+1].op == "OR" {
				return q, false
			}
		default: // an OR that does not stand between two terms
			return q, false
		}
	}
	return q, len(q.clauses) > 0
}

func lex(text string) (items []item, ok bool) {
	for {
		text = strings.TrimLeftFunc(text, isBlank)
		if text == "" {
			return items, true
		}
		if next := text[1:]; text[0] == '-' && startsTerm(next) {
			items = append(items, item{op: "-"})
			text = next
		}
		if text[0] == '"' {
			phrase, rest, ok := lexPhrase(text[1:])
			if !ok {
				return nil, false
			}
			items, text = append(items, item{term: phrase}), rest
			continue
		}
		end := strings.IndexFunc(text, isBlank)
		if end < 0 {
			end = len(text)
		}
		items, text = append(items, lexWord(text[:end])), text[end:]
	}
}

// startsTerm tells the minus of -word from that of --flag and of a lone minus.
func startsTerm(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '"' || isWord(r)
}

// lexPhrase reads up to the closing quote, which must end the phrase.
func lexPhrase(text string) (t term, rest string, ok bool) {
	inside, rest, closed := strings.Cut(text, `"`)
	t.text = strings.Join(strings.FieldsFunc(inside, isBlank), " ")
	if r, size := utf8.DecodeRuneInString(rest); size > 0 && !isBlank(r) {
		return t, "", false
	}
	return t, rest, closed && t.text != ""
}

func lexWord(w string) item {
	if w == "OR" || w == "AND" || w == "NOT" {
		return item{op: w}
	}
	if start, ok := strings.CutSuffix(w, "*"); ok {
		if last, size := utf8.DecodeLastRuneInString(start); size > 0 && isWord(last) {
			return item{term: term{text: start, prefix: true}}
		}
	}
	return item{term: term{text: w}}
}
