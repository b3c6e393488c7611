// Package secret finds secrets in text and replaces them with a note of their kind, such as [withheld: github token].
// The note never contains a part of the secret.
//
// It finds values known from the environment, in any of the forms that function forms lists, and text of a shape that
// only credentials have (shapes.go: a table with examples). It finds nothing else: not a password in a sentence, a
// reversed value, or one with blanks between its letters.
//
// A Redactor does not keep values but a 16-bit filter, the length and a salted SHA-256 of each form. So a process
// that must not know a value, such as claw-exec, can recognise it: its parent passes Redactor.Export in the
// environment.
package secret

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Counts says how many secrets of each kind were withheld.
type Counts map[string]int

// Total is the number of secrets of all kinds.
func (c Counts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// Add adds the counts of others, and returns the sum.
func (c Counts) Add(others Counts) Counts {
	for kind, n := range others {
		if c == nil {
			c = Counts{}
		}
		c[kind] += n
	}
	return c
}

// Kinds names the kinds in order.
func (c Counts) Kinds() []string {
	var kinds []string
	for k := range c {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// Redactor replaces secrets. It is safe for concurrent use. A nil Redactor replaces nothing.
type Redactor struct {
	known  atomic.Pointer[table]
	shapes bool
}

// New returns a Redactor for the shapes, for values of variables in environ whose names and values look like secrets,
// and for what a parent has exported there.
func New(environ []string) *Redactor {
	r := &Redactor{shapes: true}
	t := inherited(environ)
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if value = trim(value); secretName(name) && secretValue(value) {
			t.learn(name, value)
		}
	}
	r.known.Store(t.indexed())
	return r
}

// Learn adds the value of a variable that is a secret whatever it looks like. A value shorter than 4 bytes is a
// placeholder and ignored.
func (r *Redactor) Learn(name, value string) {
	value = trim(value)
	if r == nil || len(value) < windowBytes || len(value) > maxValueBytes || noted(name, value) {
		return
	}
	for {
		old := r.known.Load()
		t := old.clone()
		t.learn(name, value)
		if r.known.CompareAndSwap(old, t.indexed()) {
			return
		}
	}
}

// Known returns a Redactor for only the values known now, without shapes.
func (r *Redactor) Known() *Redactor {
	if r == nil {
		return nil
	}
	k := &Redactor{}
	k.known.Store(r.known.Load())
	return k
}

// String returns the text with notes in place of secrets, and how many of each kind there were.
func (r *Redactor) String(text string) (string, Counts) {
	if r == nil || text == "" {
		return text, nil
	}
	out, counts := r.Bytes([]byte(text))
	if counts == nil {
		return text, nil
	}
	return string(out), counts
}

// Text is like String, without the counts.
func (r *Redactor) Text(text string) string {
	out, _ := r.String(text)
	return out
}

// Bytes is like String, for bytes. The result may share memory with text.
func (r *Redactor) Bytes(text []byte) ([]byte, Counts) {
	if r == nil || len(text) == 0 {
		return text, nil
	}
	s := Stream{r: r, buf: text[:len(text):len(text)]}
	out := s.advance(nil, true)
	if s.counts == nil {
		return text, nil
	}
	return out, s.counts
}

// Empty reports whether the Redactor finds nothing.
func (r *Redactor) Empty() bool {
	return r == nil || !r.shapes && len(r.known.Load().entries) == 0
}

// Found reports whether the text contains a secret.
func (r *Redactor) Found(text []byte) bool {
	_, counts := r.Bytes(text)
	return counts != nil
}
