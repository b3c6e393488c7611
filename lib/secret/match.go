package secret

import (
	"bytes"
	"sync"
)

// class is a set of bytes.
type class [4]uint64

func (c *class) has(b byte) bool { return c[b>>6]&(1<<(b&63)) != 0 }

// set makes a class of bytes; a-z, A-Z and 0-9 stand for what they say.
func set(spec string) (c class) {
	for i := 0; i < len(spec); i++ {
		to := spec[i]
		if i+2 < len(spec) && spec[i+1] == '-' {
			to = spec[i+2]
		}
		for b := int(spec[i]); b <= int(to); b++ {
			c[b>>6] |= 1 << (b & 63)
		}
		if to != spec[i] {
			i += 2
		}
	}
	return c
}

// match is a secret that was found: buf[at:to] belongs to it, and what follows of the class, or up to the end of the
// key block.
type match struct {
	kind   string
	at, to int
	class  *class
	most   int
	block  bool
}

// shapeIndex finds the shapes that a text may start with.
type shapeIndex struct {
	pairs [1 << 10]uint64 // the first two bytes of all anchors
	first [256][]*shape
}

var shapesIndexed = sync.OnceValue(func() *shapeIndex {
	x := &shapeIndex{}
	table := shapes()
	for i := range table {
		s := &table[i]
		for _, anchor := range s.anchors {
			pair := uint16(anchor[0]) | uint16(anchor[1])<<8
			x.pairs[pair>>6] |= 1 << (pair & 63)
			one := *s
			one.anchor = anchor
			x.first[anchor[0]] = append(x.first[anchor[0]], &one)
		}
	}
	return x
})

// match finds the shape that text has at a place. more tells that it depends on what follows.
func (x *shapeIndex) match(text []byte, low, at int, final bool) (match, bool) {
	for _, s := range x.first[text[at]] {
		rest := text[at:]
		if len(rest) < len(s.anchor) {
			if !final && s.anchor[:len(rest)] == string(rest) && s.bounded(text, low, at) {
				return match{}, true
			}
			continue
		}
		if string(rest[:len(s.anchor)]) != s.anchor || !s.bounded(text, low, at) {
			continue
		}
		m, more := s.find(text, low, at, final)
		if more || m.kind != "" {
			return m, more
		}
	}
	return match{}, false
}

// bounded tells whether a token can begin at a place: behind no letter, digit or _, unless they are the end of a JSON
// escape.
func (s *shape) bounded(text []byte, low, at int) bool {
	if s.inside || at == low || !wordClass.has(text[at-1]) {
		return true
	}
	before := text[low:at]
	if n := len(before); n >= 2 && before[n-2] == '\\' && bytes.IndexByte([]byte("nrtbf"), before[n-1]) >= 0 {
		return true
	}
	n := len(before)
	return n >= 6 && before[n-6] == '\\' && before[n-5] == 'u' || n >= 3 && before[n-3] == '%'
}

// find looks for the shape behind its anchor.
func (s *shape) find(text []byte, low, at int, final bool) (match, bool) {
	if s.special != nil {
		from, to, more := s.special(text, low, at, final)
		if more || to < 0 {
			return match{}, more
		}
		return match{kind: s.kind, at: from, to: to, class: s.class, block: s.block}, false
	}
	from := at + len(s.anchor)
	n, more := run(text[from:], s.class, max(s.min, s.window), final)
	if more {
		return match{}, true
	}
	if n < s.min || s.check != nil && !s.check(text[from:from+n]) {
		return match{}, false
	}
	m := match{kind: s.kind, at: at, to: from + n, class: s.class}
	if s.keep {
		m.at = from
	}
	return m, false
}

// run counts the bytes of a class that text starts with, at most most. more tells that it may be more than text holds.
func run(text []byte, c *class, most int, final bool) (n int, more bool) {
	for n < len(text) && n < most && c.has(text[n]) {
		n++
	}
	return n, n == len(text) && n < most && !final
}
