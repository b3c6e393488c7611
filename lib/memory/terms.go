package memory

import (
	"slices"
	"strings"
	"unicode"
)

// maxIndexed is how many strings an index is asked for at once; the matcher checks the rest.
const maxIndexed = 32

// minPrefixBytes is the shortest beginning of a word that the index of words is asked for: it has to merge the entries
// of all words that begin so, and those of one letter are nearly all. The matcher looks for shorter ones.
const minPrefixBytes = 3

// term is a word or phrase of a query, with a space between its pieces. With prefix it is the beginning of a word.
type term struct {
	text   string
	prefix bool
}

// query is what a search looks for: one term of each clause, and none of the excluded. There is a clause unless it is
// empty.
type query struct {
	clauses [][]term
	without []term
}

// parseQuery reads a query as Search documents it. What is not of that language is plain text.
func parseQuery(text string) query {
	text = boundedQuery(text)
	if q, ok := parseSyntax(text); ok {
		return q
	}
	return plain(text)
}

// plain takes each word as it is.
func plain(text string) query {
	var q query
	for _, w := range strings.FieldsFunc(text, isBlank) {
		q.add([]term{{text: w}})
	}
	return q
}

func (q *query) add(clause []term) {
	if !slices.ContainsFunc(q.clauses, func(c []term) bool { return slices.Equal(c, clause) }) {
		q.clauses = append(q.clauses, clause)
	}
}

// boundedQuery makes a query valid text of at most maxQueryRunes.
func boundedQuery(text string) string {
	runes := 0
	for i := range text {
		if runes++; runes > maxQueryRunes {
			text = text[:i]
			break
		}
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

func isBlank(r rune) bool { return r == 0 || unicode.IsSpace(r) }

// wordQuery is the FTS5 query for entries in which all clauses may hold as whole words. A clause with a term that the
// index of words does not have is left to the matcher; the query is "" if there is no other.
func (q query) wordQuery() string {
	var all []string
	n := 0
	for _, clause := range q.clauses {
		var any []string
		for _, t := range clause {
			if t.inWordIndex() {
				any = append(any, t.quoted())
			}
		}
		if len(any) == len(clause) && n+len(any) <= maxIndexed {
			n += len(any)
			all = append(all, "("+strings.Join(any, " OR ")+")")
		}
	}
	if len(all) == 0 {
		return ""
	}
	fts := "(" + strings.Join(all, " AND ") + ")"
	for _, t := range q.without {
		if t.isOneWord() && n < maxIndexed {
			n++
			fts += " NOT " + t.quoted()
		}
	}
	return fts
}

// inWordIndex reports whether the index of words can find the term. It has no words without a letter or digit.
func (t term) inWordIndex() bool {
	if !strings.ContainsFunc(t.text, isAlphanumeric) {
		return false
	}
	last := t.text[strings.LastIndexFunc(t.text, func(r rune) bool { return !isWord(r) })+1:]
	return !t.prefix || len(last) >= minPrefixBytes
}

// isOneWord reports whether the index has the term as one word: then an entry that has it there really has it.
func (t term) isOneWord() bool {
	return !t.prefix && !strings.ContainsFunc(t.text, func(r rune) bool { return !isAlphanumeric(r) })
}

func (t term) quoted() string {
	if t.prefix {
		return quote(t.text) + " *"
	}
	return quote(t.text)
}

// trigramQuery is the FTS5 query for entries that may hold all clauses, or "" if none can be asked for: the index of
// trigrams has no strings of less than three letters.
func (q query) trigramQuery() string {
	var all []string
	n := 0
	for _, clause := range q.clauses {
		var any []string
		used := 0
		for _, t := range clause {
			if tri := t.trigrams(maxIndexed - n - used); len(tri) > 0 {
				used += len(tri)
				any = append(any, "("+strings.Join(tri, " AND ")+")")
			}
		}
		if len(any) == len(clause) {
			n += used
			all = append(all, "("+strings.Join(any, " OR ")+")")
		}
	}
	return strings.Join(all, " AND ")
}

// trigrams returns at most limit trigrams that cover the term.
func (t term) trigrams(limit int) []string {
	var out []string
	for _, p := range strings.Fields(t.text) {
		runes := []rune(p)
		for i := 0; i+3 <= len(runes); i += 3 {
			out = append(out, quote(string(runes[i:i+3])))
		}
		if n := len(runes); n > 3 && n%3 != 0 {
			out = append(out, quote(string(runes[n-3:])))
		}
	}
	return out[:min(len(out), max(limit, 0))]
}

// quote makes an FTS5 string, in which only the quote itself is special.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// isWord reports whether a rune is part of a word, as the index of words sees it.
func isWord(r rune) bool { return isAlphanumeric(r) || unicode.IsMark(r) || unicode.Is(unicode.Co, r) }
