package memory

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// needle is a term with letter case folded.
type needle struct {
	pieces [][]byte
	prefix bool
}

// matcher decides whether a content holds what a query looks for, without regard to letter case. It folds one rune to one
// rune, so that places in the folded text can be carried back to the original by counting runes.
type matcher struct {
	clauses [][]needle
	without []needle
	folded  []byte // the content at hand, folded
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
		n := needle{prefix: t.prefix}
		for _, p := range t.pieces {
			n.pieces = append(n.pieces, fold(nil, []byte(p)))
		}
		out = append(out, n)
	}
	return out
}

// match reports whether content holds all clauses and nothing that is excluded, and whether it holds all of them as whole words.
// Only whole words are excluded: -cat does not exclude category.
func (m *matcher) match(content []byte) (found, whole bool) {
	m.folded = fold(m.folded[:0], content)
	whole = true
	for _, clause := range m.clauses {
		held, word := m.holds(clause)
		if !held {
			return false, false
		}
		whole = whole && word
	}
	for _, n := range m.without {
		if at, _, word := n.locate(m.folded); at >= 0 && word {
			return false, false
		}
	}
	return true, whole
}

func (m *matcher) holds(clause []needle) (held, word bool) {
	for _, n := range clause {
		at, _, w := n.locate(m.folded)
		held, word = held || at >= 0, word || w
		if word {
			break
		}
	}
	return held, word
}

// locate finds the first place where the needle is a whole word, or else the first where it is at all; -1 if nowhere. The
// beginning of a word counts as a whole one if that is what is looked for.
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

// next finds the first place at or behind from.
func (n needle) next(folded []byte, from int) (start, end int) {
	for {
		i := bytes.Index(folded[from:], n.pieces[0])
		if i < 0 {
			return -1, -1
		}
		start = from + i
		end = n.rest(folded, start+len(n.pieces[0]))
		if end >= 0 && !(n.prefix && inWord(folded, start)) {
			return start, end
		}
		_, size := utf8.DecodeRune(folded[start:])
		from = start + size
	}
}

// rest matches the pieces behind the first, each after at least one blank. It returns where they end, or -1.
func (n needle) rest(folded []byte, at int) int {
	for _, p := range n.pieces[1:] {
		behind := bytes.TrimLeftFunc(folded[at:], isBlank)
		if len(behind) == len(folded)-at || !bytes.HasPrefix(behind, p) {
			return -1
		}
		at = len(folded) - len(behind) + len(p)
	}
	return at
}

// maxCounted is how many places of a term in an entry count.
const maxCounted = 1000

// count is the number of places of all clauses in the content that was matched just now.
func (m *matcher) count() []int {
	var out []int
	for _, clause := range m.clauses {
		places := 0
		for _, n := range clause {
			for s, e := n.next(m.folded, 0); s >= 0 && places < maxCounted; s, e = n.next(m.folded, e) {
				places++
			}
		}
		out = append(out, places)
	}
	return out
}

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
