package memory

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// matcher looks for terms in contents without regard to letter case. It folds one rune to one rune, so that places in
// the folded text can be carried back to the original by counting runes.
type matcher struct {
	terms  [][]byte // folded
	folded []byte   // the content at hand, folded
}

func newMatcher(terms []string) *matcher {
	m := &matcher{}
	for _, t := range terms {
		m.terms = append(m.terms, fold(nil, []byte(t)))
	}
	return m
}

// match reports whether content holds all terms, and whether it holds all of them as whole words.
func (m *matcher) match(content []byte) (found, whole bool) {
	m.folded = fold(m.folded[:0], content)
	whole = true
	for _, t := range m.terms {
		at, word := locateTerm(m.folded, t)
		if at < 0 {
			return false, false
		}
		whole = whole && word
	}
	return true, whole
}

// locateTerm finds the first place where term is a whole word, or else the first where it is at all; -1 if nowhere.
func locateTerm(folded, term []byte) (at int, word bool) {
	at = -1
	for from := 0; ; {
		i := bytes.Index(folded[from:], term)
		if i < 0 {
			return at, false
		}
		i += from
		if bounded(folded, i, i+len(term)) {
			return i, true
		}
		if at < 0 {
			at = i
		}
		_, size := utf8.DecodeRune(folded[i:])
		from = i + size
	}
}

// bounded reports whether no word goes on across start or end.
func bounded(b []byte, start, end int) bool { return !inWord(b, start) && !inWord(b, end) }

func inWord(b []byte, at int) bool {
	before, n := utf8.DecodeLastRune(b[:at])
	after, m := utf8.DecodeRune(b[at:])
	return n > 0 && m > 0 && isWord(before) && isWord(after)
}

// fold appends b to dst with each rune replaced by the one that stands for all its cases. Invalid bytes become U+FFFD.
func fold(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		dst = utf8.AppendRune(dst, foldRune(r))
		i += size
	}
	return dst
}

// foldRune goes by way of the upper case, so that ς and σ, ſ and s, K (Kelvin) and k are the same.
func foldRune(r rune) rune {
	if 0x2e80 <= r && r < 0xa640 || 0xac00 <= r && r < 0xd7b0 { // Han, kana and Hangul have no case
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}
