package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Span is a place in a text, in bytes: text[Start:End].
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Length of a snippet, and of what stands before the match in it, in runes.
const (
	snippetRunes = 160
	leadRunes    = 48
)

// Mark returns the snippet with before and after put around each match. Clean, if not nil, is applied to every piece of
// text, so that a sanitiser cannot move the matches.
func (h Hit) Mark(before, after string, clean func(string) string) string {
	if clean == nil {
		clean = func(s string) string { return s }
	}
	var b strings.Builder
	at := 0
	for _, m := range h.Matches {
		b.WriteString(clean(h.Snippet[at:m.Start]) + before + clean(h.Snippet[m.Start:m.End]) + after)
		at = m.End
	}
	return b.String() + clean(h.Snippet[at:])
}

// snippet cuts the surroundings of the first term out of content, which must have been matched just now.
func (m *matcher) snippet(content []byte) (string, []Span) {
	at, end := m.first()
	runesBefore := utf8.RuneCount(m.folded[:at])
	start := 0
	if runesBefore > leadRunes {
		start = skipRunes(content, runesBefore-leadRunes)
	}
	window := content[start:]
	cutStart, cutEnd := start > 0, false
	room := snippetRunes - 2 // for two ellipses
	if end := skipRunes(window, room); end < len(window) {
		window, cutEnd = window[:end], true
	}
	text := oneLine(window)
	first := skipRunes([]byte(text), min(runesBefore, leadRunes))
	spans := append(m.spans(text), Span{first, first + skipRunes([]byte(text[first:]), utf8.RuneCount(m.folded[at:end]))})
	shift := 0
	if cutStart {
		text, shift = "…"+text, len("…")
	}
	if cutEnd {
		text += "…"
	}
	return text, merge(spans, shift)
}

// first is the place of the first term of the query that is there, as a whole word if it is one anywhere.
func (m *matcher) first() (start, end int) {
	start, end = -1, -1
	for _, n := range m.clauses[0] {
		s, e, word := n.locate(m.folded)
		if word {
			return s, e
		}
		if start < 0 {
			start, end = s, e
		}
	}
	return max(start, 0), max(end, 0)
}

// spans returns where the terms stand in text.
func (m *matcher) spans(text string) []Span {
	var out []Span
	folded := fold(nil, []byte(text))
	for _, clause := range m.clauses {
		for _, n := range clause {
			for s, e := n.next(folded, 0); s >= 0; s, e = n.next(folded, e) {
				out = append(out, Span{original(text, folded, s), original(text, folded, e)})
			}
		}
	}
	return out
}

// original carries a place in the folded text back.
func original(text string, folded []byte, at int) int {
	return skipRunes([]byte(text), utf8.RuneCount(folded[:at]))
}

// skipRunes returns the number of bytes that the first n runes of b have.
func skipRunes(b []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(b); n-- {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at
}

// oneLine returns b as valid text of as many runes, with blanks for line breaks and tabs.
func oneLine(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, string(b))
}

// merge sorts spans, joins those that touch and moves all by shift bytes.
func merge(spans []Span, shift int) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	for i := range out {
		out[i].Start += shift
		out[i].End += shift
	}
	return out
}
