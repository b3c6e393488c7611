package policy

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// loop judges what is run any number of times: before it, nothing is known of what it changes itself.
func (j *judge) loop(s *state, body func(*state) finding, n syntax.Node) finding {
	for name, numeric := range j.assigned(n) {
		v := s.vars[name]
		s.set(name, value{number: numeric && v.numeric()})
	}
	if j.changesDir(n) {
		s.lost = true
	}
	in := j.fork(s)
	f := body(in)
	s.merge(in)
	return f
}

// assigned are the variables that a part of a script sets, and whether only to numbers.
func (e effort) assigned(n syntax.Node) map[string]bool {
	out := map[string]bool{}
	set := func(name string, numeric bool) {
		if was, ok := out[name]; ok {
			numeric = numeric && was
		}
		out[name] = numeric
	}
	e.walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				set(n.Name.Value, numericWord(n.Value))
			}
		case *syntax.WordIter:
			set(n.Name.Value, false)
		case *syntax.CallExpr:
			if words := e.wordsOf(n).words; len(words) > 0 &&
				slices.Contains([]string{"read", "mapfile", "readarray", "printf", "getopts", "wait", "unset"},
					words[0]) {
				for _, w := range words[1:] {
					set(w, false)
				}
			}
		case *syntax.BinaryArithm:
			if w, ok := n.X.(*syntax.Word); ok {
				set(w.Lit(), true)
			}
		case *syntax.UnaryArithm:
			if w, ok := n.X.(*syntax.Word); ok {
				set(w.Lit(), true)
			}
		}
		return true
	})
	return out
}

// numericWord tells whether a word is a number or the result of arithmetic, quoted or not.
func numericWord(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	switch part := part.(type) {
	case *syntax.Lit:
		return isNumber(part.Value)
	case *syntax.ArithmExp:
		return true
	}
	return false
}

func (e effort) changesDir(n syntax.Node) bool {
	found := false
	e.walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			found = found || e.unwrap(e.wordsOf(c)).
				runs(func(name string) bool { return slices.Contains(movers, name) })
		}
		return !found
	})
	return found
}

// maxItems is how many words of a for loop are gone through one by one.
const maxItems = 64

func (j *judge) forClause(c *syntax.ForClause, s *state) finding {
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		f := understood
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil {
				f = stricter(f, j.arithmetic(x, s))
			}
		}
		return stricter(f, j.loop(s, func(in *state) finding { return j.list(c.Do, in) }, c))
	case *syntax.WordIter:
		if c.Select || !l.InPos.IsValid() {
			return stricter(opaque("it loops over arguments that do not exist"),
				j.loop(s, func(in *state) finding { return j.list(c.Do, in) }, c))
		}
		f := variable(l.Name.Value)
		var items []value
		for _, w := range l.Items {
			if j.ended(f) {
				break
			}
			vs, wf := j.words(w, s)
			items, f = append(items, vs...), stricter(f, wf)
		}
		if len(items) > maxItems || slices.ContainsFunc(items, func(v value) bool { return !v.known }) {
			return stricter(f, j.loop(s, func(in *state) finding {
				in.set(l.Name.Value, unknown)
				return j.list(c.Do, in)
			}, c))
		}
		for _, v := range items {
			if j.ended(f) {
				break
			}
			before := j.fork(s)
			s.set(l.Name.Value, v)
			f = stricter(f, j.list(c.Do, s))
			before.set(l.Name.Value, v)
			s.merge(before) // it may have been left in the middle
		}
		return f
	}
	return opaque("it uses an unsupported loop")
}

func (j *judge) caseClause(c *syntax.CaseClause, s *state) finding {
	_, f := j.words(c.Word, s)
	after := j.fork(s)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			f = stricter(f, j.inner(p, s))
		}
		in := j.fork(s)
		f = stricter(f, j.list(item.Stmts, in))
		after.merge(in)
		s.merge(in) // ;& continues with the next one
	}
	s.merge(after)
	return f
}
