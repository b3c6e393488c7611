package policy

import (
	"io/fs"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what a word may become. Replacing makes of two texts one as long as their product, so that expansions which
// compute are made of less.
const (
	maxMatches   = 500
	maxExpansion = 1 << 10
)

// lookup answers what the value of a variable is, and whether that is known.
type lookup func(name string) (string, bool)

// knownOnly is an environment for the interpreter's own expansion that holds the known variables and nothing else.
type knownOnly struct {
	vars   lookup
	missed bool // it was asked for another one
	asked  int  // how much text it has given
}

// Get implements expand.Environ. Whoever sets IFS is judged high for it.
func (k *knownOnly) Get(name string) expand.Variable {
	if name == "IFS" {
		return expand.Variable{}
	}
	text, ok := k.vars(name)
	if !ok {
		k.missed = true
		return expand.Variable{}
	}
	k.asked += len(text)
	return expand.Variable{Set: true, Kind: expand.String, Str: text}
}

// Each implements expand.Environ.
func (k *knownOnly) Each(func(string, expand.Variable) bool) { k.missed = true }

// expandWord expands a word of which everything is known into what the interpreter makes of it, by the interpreter's
// own package: braces, parameters, words, patterns. It returns false for what depends on anything else. list lists a
// directory for a pattern.
func (e effort) expandWord(w *syntax.Word, vars lookup, list func(string) ([]fs.DirEntry, error)) (out []string,
	ok bool) {
	env := &knownOnly{vars: vars}
	if !e.followed(w, env) {
		return nil, false
	}
	defer unexpandable(&ok)
	size := 0
	for text, err := range expand.FieldsSeq(&expand.Config{Env: env, ReadDir2: list}, w) {
		if size += len(text); !e.spend(1+len(text)/8) || err != nil || env.missed || !utf8.ValidString(text) ||
			size > maxScriptBytes || len(out) == maxMatches {
			return nil, false
		}
		out = append(out, text)
	}
	return out, !env.missed
}

// assignedText expands a word as an assignment does, without splitting it and without patterns.
func (e effort) assignedText(w *syntax.Word, vars lookup) (text string, ok bool) {
	env := &knownOnly{vars: vars}
	if !e.followed(w, env) {
		return "", false
	}
	defer unexpandable(&ok)
	text, err := expand.Literal(&expand.Config{Env: env}, w)
	return text, err == nil && !env.missed && utf8.ValidString(text)
}

// unexpandable recovers where the interpreter would end, too: it panics about patterns that it cannot use.
func unexpandable(ok *bool) {
	if recover() != nil {
		*ok = false
	}
}

// followed tells whether a word depends on the values of known variables and on nothing else, and is short enough.
func (e effort) followed(w *syntax.Word, env *knownOnly) bool {
	ok, computes := true, 0
	e.walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			env.Get(name(n))
			ok = ok && !env.missed && plain(n)
			if n.Repl != nil || n.Exp != nil {
				computes++
			}
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob, *syntax.ArithmExp:
			ok = false
		case *syntax.DblQuoted:
			ok = ok && !n.Dollar
		}
		return ok
	})
	size := int(w.End().Offset()-w.Pos().Offset()) + env.asked
	if computes > 0 {
		e.spend(min(size, maxExpansion) * min(size, maxExpansion) / 32)
	}
	return ok && (computes == 0 && size <= maxScriptBytes || size <= maxExpansion && computes <= 1 ||
		size<<computes <= maxExpansion)
}

// plain tells whether a parameter is a variable by its name that the expansion does not change.
func plain(n *syntax.ParamExp) bool {
	if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull ||
		n.Exp.Op == syntax.OtherParamOps) {
		return false
	}
	return n.Flags == nil && !n.Excl && !n.Width && !n.IsSet && n.NestedParam == nil && n.Index == nil &&
		n.Modifiers == nil && n.Names == 0
}
