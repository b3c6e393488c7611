package policy

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxMatches is how many names a word may become.
const maxMatches = 500

// lookup answers what the value of a variable is, and whether that is known.
type lookup func(name string) (string, bool)

// piece is a part of a word after its expansion: quoted text is taken as it is, other text may be split and be a pattern.
type piece struct {
	text   string
	quoted bool
}

// expandWord expands a word of which everything is known, in the order that shells do it: braces, parameters, words, patterns.
// It returns false for what it does not expand. list lists a directory for a pattern.
func (e effort) expandWord(w *syntax.Word, vars lookup, list lister) (out []string, ok bool) {
	if !e.followed(w, vars) {
		return nil, false
	}
	defer unexpandable(&ok)
	size := 0
	copied := &syntax.Word{Parts: slices.Clone(w.Parts)}
	words := []*syntax.Word{copied}
	if syntax.SplitBraces(copied) {
		var ok bool
		if words, ok = braces(copied, 0); !ok {
			return nil, false
		}
	}
	for _, one := range words {
		pieces, ok := expandParts(one.Parts, vars, false)
		if !ok {
			return nil, false
		}
		for _, field := range split(pieces) {
			names, ok := matches(field, list)
			if !ok || len(out)+len(names) > maxMatches {
				return nil, false
			}
			for _, n := range names {
				size += len(n)
			}
			if !e.spend(1+size/64) || size > maxScriptBytes {
				return nil, false
			}
			out = append(out, names...)
		}
	}
	return out, true
}

// braces makes one word for each way through the braces.
func braces(w *syntax.Word, depth int) ([]*syntax.Word, bool) {
	if depth > 8 {
		return nil, false
	}
	for i, part := range w.Parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		elems := b.Elems
		if b.Sequence {
			if elems, ok = sequence(b); !ok {
				return nil, false
			}
		}
		var out []*syntax.Word
		for _, e := range elems {
			next := &syntax.Word{Parts: slices.Concat(w.Parts[:i], e.Parts, w.Parts[i+1:])}
			more, ok := braces(next, depth+1)
			if !ok || len(out)+len(more) > maxMatches {
				return nil, false
			}
			out = append(out, more...)
		}
		return out, true
	}
	return []*syntax.Word{w}, true
}

// sequence makes the words of {1..5} and {a..e}.
func sequence(b *syntax.BraceExp) ([]*syntax.Word, bool) {
	var text []string
	for _, e := range b.Elems {
		text = append(text, e.Lit())
	}
	if len(text) != 2 {
		return nil, false
	}
	from, err1 := strconv.Atoi(text[0])
	to, err2 := strconv.Atoi(text[1])
	letters := err1 != nil && err2 != nil && len(text[0]) == 1 && len(text[1]) == 1
	if letters {
		from, to = int(text[0][0]), int(text[1][0])
	} else if err1 != nil || err2 != nil || len(text[0]) > 1 && text[0][0] == '0' || len(text[1]) > 1 && text[1][0] == '0' {
		return nil, false
	}
	if to-from > maxMatches || from-to > maxMatches {
		return nil, false
	}
	var out []*syntax.Word
	for n := from; ; {
		s := strconv.Itoa(n)
		if letters {
			s = string(rune(n))
		}
		out = append(out, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}})
		if n == to {
			return out, true
		}
		if n < to {
			n++
		} else {
			n--
		}
	}
}

func expandParts(parts []syntax.WordPart, vars lookup, quoted bool) ([]piece, bool) {
	var out []piece
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if quoted {
				out = append(out, piece{doubleQuoted(part.Value), true})
			} else {
				out = append(out, litPieces(part.Value)...)
			}
		case *syntax.SglQuoted:
			text, ok := part.Value, true
			if part.Dollar {
				text, ok = dollarQuoted(part.Value)
			}
			if !ok {
				return nil, false
			}
			out = append(out, piece{text, true})
		case *syntax.DblQuoted:
			if part.Dollar {
				return nil, false
			}
			inner, ok := expandParts(part.Parts, vars, true)
			if !ok {
				return nil, false
			}
			out = append(append(out, piece{"", true}), inner...)
		case *syntax.ParamExp:
			text, ok := vars(name(part))
			if ok && !plainParameter(part) {
				text, ok = operated(part, text, vars)
			}
			if !ok {
				return nil, false
			}
			out = append(out, piece{text, quoted})
		default:
			return nil, false
		}
	}
	return out, true
}

// plainParameter tells whether an expansion is the variable's value and nothing else.
func plainParameter(n *syntax.ParamExp) bool {
	return n.Flags == nil && !n.Excl && !n.Length && !n.Width && !n.IsSet && n.NestedParam == nil && n.Index == nil && n.Modifiers == nil &&
		n.Slice == nil && n.Repl == nil && n.Names == 0 && n.Exp == nil
}

// litPieces takes text outside quotes apart: what a backslash stands before is quoted.
func litPieces(s string) []piece {
	var out []piece
	var plain strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			plain.WriteByte(s[i])
			continue
		}
		out = append(out, piece{plain.String(), false})
		plain.Reset()
		if i++; s[i] != '\n' {
			_, size := utf8.DecodeRuneInString(s[i:])
			out = append(out, piece{s[i : i+size], true})
			i += size - 1
		}
	}
	return append(out, piece{plain.String(), false})
}

// dollarQuoted decodes $'…'.
func dollarQuoted(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		if k := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); k >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[k])
			continue
		}
		base, most, from := 8, 3, i
		switch s[i] {
		case 'x':
			base, most, from = 16, 2, i+1
		case 'u':
			base, most, from = 16, 4, i+1
		case 'U':
			base, most, from = 16, 8, i+1
		}
		to := from
		for to < len(s) && to-from < most && strings.IndexByte("0123456789abcdefABCDEF"[:map[int]int{8: 8, 16: 22}[base]], s[to]) >= 0 {
			to++
		}
		n, err := strconv.ParseInt(s[from:to], base, 64)
		if err != nil {
			return "", false
		}
		if most > 3 {
			b.WriteRune(rune(n))
		} else {
			b.WriteByte(byte(n))
		}
		i = to - 1
	}
	return b.String(), utf8.ValidString(b.String()) && !strings.ContainsRune(b.String(), 0)
}

// split cuts unquoted text of variables into words. Text that was written has been cut by the parser.
func split(pieces []piece) [][]piece {
	fields, field, some := [][]piece{}, []piece(nil), false
	for _, p := range pieces {
		if p.quoted || !strings.ContainsAny(p.text, " \t\n") {
			field, some = append(field, p), some || p.quoted || p.text != ""
			continue
		}
		for i, word := range strings.FieldsFunc(p.text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
			if (i > 0 || strings.IndexByte(" \t\n", p.text[0]) >= 0) && some {
				fields, field, some = append(fields, field), nil, false
			}
			field, some = append(field, piece{word, false}), true
		}
		if strings.IndexByte(" \t\n", p.text[len(p.text)-1]) >= 0 && some {
			fields, field, some = append(fields, field), nil, false
		}
	}
	if some {
		fields = append(fields, field)
	}
	return fields
}
