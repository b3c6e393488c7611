package memory

import (
	"bytes"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// needle is a term, folded. With prefix it is the beginning of a word.
type needle struct {
	text   []byte
	prefix bool
}

// matcher decides whether a content holds what a query looks for, without regard to letter case and to how wide blanks
// are.
type matcher struct {
	clauses [][]needle
	without []needle
	folded  []byte // the content at hand
}

func newMatcher(q query) *matcher {
	m := &matcher{without: needles(q.without)}
	for _, c := range q.clauses {
		m.clauses = append(m.clauses, needles(c))
	}
	return m
}

func needles(terms []term) []needle {
	var out []needle
	for _, t := range terms {
		text, _ := fold(nil, []byte(t.text), math.MaxInt)
		out = append(out, needle{text, t.prefix})
	}
	return out
}

// match reports whether content holds all clauses and nothing that is excluded, and whether it holds all of them as
// whole words. Only whole words are excluded: -cat does not exclude category.
func (m *matcher) match(content []byte) (found, whole bool) {
	m.folded, _ = fold(m.folded[:0], content, math.MaxInt)
	whole = true
	for _, clause := range m.clauses {
		at, _, word := m.locate(clause)
		if at < 0 {
			return false, false
		}
		whole = whole && word
	}
	for _, n := range m.without {
		if _, _, word := n.locate(m.folded); word {
			return false, false
		}
	}
	return true, whole
}

// locate finds the first term of a clause that is a whole word, or else one that is there at all; -1 if none is.
func (m *matcher) locate(clause []needle) (start, end int, word bool) {
	start, end = -1, -1
	for _, n := range clause {
		s, e, word := n.locate(m.folded)
		if word {
			return s, e, true
		}
		if start < 0 {
			start, end = s, e
		}
	}
	return start, end, false
}

// locate finds the first place where the needle is a whole word, or else the first where it is at all; -1 if nowhere.
// The beginning of a word counts as a whole one if that is what is looked for.
func (n needle) locate(folded []byte) (start, end int, word bool) {
	start, end = -1, -1
	for from := 0; ; {
		s, e := n.next(folded, from)
		if s < 0 {
			return start, end, false
		}
		if n.prefix || !inWord(folded, s) && !inWord(folded, e) {
			return s, e, true
		}
		if start < 0 {
			start, end = s, e
		}
		_, size := utf8.DecodeRune(folded[s:])
		from = s + size
	}
}

// next finds the first place at or behind from, -1 if there is none.
func (n needle) next(folded []byte, from int) (start, end int) {
	for {
		i := bytes.Index(folded[from:], n.text)
		if i < 0 {
			return -1, -1
		}
		start = from + i
		if !n.prefix || !inWord(folded, start) {
			return start, start + len(n.text)
		}
		_, size := utf8.DecodeRune(folded[start:])
		from = start + size
	}
}

func inWord(b []byte, at int) bool {
	before, n := utf8.DecodeLastRune(b[:at])
	after, m := utf8.DecodeRune(b[at:])
	return n > 0 && m > 0 && isWord(before) && isWord(after)
}

// fold appends b to dst, each rune replaced by the one that stands for all its cases, and blanks next to each other by
// one space, until dst is so long. It returns how much of b that is.
func fold(dst, b []byte, until int) ([]byte, int) {
	i := 0
	for i < len(b) {
		r, size := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
		}
		blank := isBlank(r)
		if n := len(dst); blank && n > 0 && dst[n-1] == ' ' {
			i += size
			continue
		}
		if len(dst) >= until {
			break
		}
		switch {
		case blank:
			dst = append(dst, ' ')
		case r >= utf8.RuneSelf:
			dst = utf8.AppendRune(dst, foldRune(r))
		case 'A' <= r && r <= 'Z':
			dst = append(dst, byte(r)+'a'-'A')
		default:
			dst = append(dst, byte(r))
		}
		i += size
	}
	return dst, i
}

// foldRune goes by way of the upper case, so that ς and σ, ſ and s, K (Kelvin) and k are the same.
func foldRune(r rune) rune {
	if 0x2e80 <= r && r < 0xa640 || 0xac00 <= r && r < 0xd7b0 { // Han, kana and Hangul have no case
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// Length of a snippet, and of what stands before the match in it, in runes.
const (
	snippetRunes = 160
	leadRunes    = 48
)

// snippet cuts the surroundings of the first clause out of content, which must have been matched just now, and marks
// all terms in them.
func (m *matcher) snippet(content []byte) (string, []Span) {
	at, end, _ := m.locate(m.clauses[0])
	_, at = fold(nil, content, at)
	_, end = fold(nil, content, end)
	start := at
	for n := 0; n < leadRunes && start > 0; n++ {
		_, size := utf8.DecodeLastRune(content[:start])
		start -= size
	}
	window, before, after := content[start:], "", ""
	if start > 0 {
		before = "…"
	}
	if cut := runes(window, snippetRunes-2); cut < len(window) { // there is room for two ellipses
		window, after = window[:cut], "…"
	}
	spans := append(m.spans(window), Span{at - start, min(end-start, len(window))})
	return before + oneLine(window) + after, merge(spans, len(before))
}

// spans are where the terms stand in text.
func (m *matcher) spans(text []byte) (out []Span) {
	folded, _ := fold(nil, text, math.MaxInt)
	for _, n := range slices.Concat(m.clauses...) {
		for s, e := n.next(folded, 0); s >= 0; s, e = n.next(folded, e) {
			_, start := fold(nil, text, s)
			_, end := fold(nil, text, e)
			out = append(out, Span{start, end})
		}
	}
	return out
}
