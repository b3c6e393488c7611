package memory

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Span is a place in a text, in bytes: text[Start:End].
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

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

// runes is how many bytes the first n runes of b have.
func runes(b []byte, n int) (at int) {
	for ; n > 0 && at < len(b); n-- {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at
}

// oneLine is b as text of as many bytes, with blanks for line breaks and tabs, and question marks for what is no UTF-8.
func oneLine(b []byte) string {
	out := bytes.Clone(b)
	for i := 0; i < len(out); {
		r, size := utf8.DecodeRune(out[i:])
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			out[i] = ' '
		case r == utf8.RuneError && size == 1:
			out[i] = '?'
		}
		i += size
	}
	return string(out)
}

// merge sorts spans, joins those that touch and moves all by shift bytes.
func merge(spans []Span, shift int) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start+shift <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End+shift)
			continue
		}
		out = append(out, Span{s.Start + shift, s.End + shift})
	}
	return out
}
