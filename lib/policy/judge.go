package policy

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// value is what is known of a word or a variable before the script runs.
type value struct {
	text   string
	known  bool // it is exactly text
	number bool // if it is not known: it is a number, whatever it is
}

// unknown is a value that only the running script knows.
var unknown = value{}

// state is what is known at one point of a script: the directories that it may be in, and its variables.
type state struct {
	dirs []string // possible working directories
	lost bool     // or any other
	vars map[string]value

	named bool     // its input is a list of names of the workspace
	moved []string // where it is if the last command, a cd, has succeeded
}

func (s *state) clone() *state {
	return &state{dirs: slices.Clone(s.dirs), lost: s.lost, vars: maps.Clone(s.vars), named: s.named}
}

// listsNames tells whether a part of a pipe writes names of files below the directory: find, grep -l or git ls-files, and
// what only chooses among their lines. Links are not looked for.
func listsNames(st *syntax.Stmt) bool {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		call, ok := b.Y.Cmd.(*syntax.CallExpr)
		if !ok {
			return false
		}
		return listsNames(b.X) && slices.Contains([]string{"sort", "uniq", "head", "tail", "grep"}, wordsOf(call).name())
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(st.Redirs) > 0 && st.Redirs[0].Op == syntax.RdrIn {
		return false
	}
	words := wordsOf(call).words
	switch {
	case len(words) == 0:
	case words[0] == "find":
		return !slices.ContainsFunc(words, func(w string) bool {
			return w == "l" || w == "-lname" || w == "-xtype" || strings.Contains(w, "printf")
		})
	case words[0] == "grep":
		return slices.ContainsFunc(words[1:], func(w string) bool {
			return w == "--files-with-matches" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "lL")
		})
	case words[0] == "git":
		return len(words) > 1 && words[1] == "ls-files"
	}
	return false
}

// maxDirs is how many possible directories are followed.
const maxDirs = 4

// merge adds what holds at another point from which the script may have come.
func (s *state) merge(o *state) {
	s.lost = s.lost || o.lost
	for _, d := range o.dirs {
		if !slices.Contains(s.dirs, d) {
			s.dirs = append(s.dirs, d)
		}
	}
	if len(s.dirs) > maxDirs {
		s.dirs, s.lost = s.dirs[:maxDirs], true
	}
	for name, v := range s.vars {
		if w, ok := o.vars[name]; !ok || v != w {
			s.vars[name] = either(v, w, ok)
		}
	}
	for name, v := range o.vars {
		if _, ok := s.vars[name]; !ok {
			s.vars[name] = either(v, value{}, false)
		}
	}
}

func either(a, b value, both bool) value {
	return value{number: both && a.numeric() && b.numeric()}
}

func (v value) numeric() bool { return v.number || v.known && isNumber(v.text) }

func isNumber(s string) bool {
	return s != "" && len(s) < 19 && strings.Trim(s, "0123456789") == ""
}

// maxSteps bounds how many commands are judged in one script, loops and scripts in scripts included.
const maxSteps = 4000

// judge follows one script through all that it can do.
type judge struct {
	p     *Policy
	src   string
	level int // how many scripts it was found in
	steps *int
	names []string // programs that it runs, in order, each once
	exact bool     // the words are those of a program that is about to start
}

// note remembers a program that is run.
func (j *judge) note(name string) {
	if !slices.Contains(j.names, name) && len(j.names) < 12 {
		j.names = append(j.names, name)
	}
}

// located names the part of a script that a finding is about, if the part is not all of it.
func (j *judge) located(f finding, n syntax.Node) finding {
	if f.rank() < 2 || f.part || n == nil || !n.Pos().IsValid() {
		return f
	}
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from >= to || to > len(j.src) || strings.TrimSpace(j.src[from:to]) == strings.TrimSpace(j.src) {
		return f
	}
	f.reason, f.part = fmt.Sprintf("in %+q: %s", bounded(j.src[from:to]), f.reason), true
	return f
}

// understood is the finding of a construct that needs no more than what is in it.
var understood = finding{risk: "low"}

func opaque(format string, args ...any) finding { return high("shell.construct", format, args...) }

// list judges statements one after the other.
func (j *judge) list(stmts []*syntax.Stmt, s *state) finding {
	f := understood
	for _, st := range stmts {
		f = stricter(f, j.stmt(st, s))
	}
	return f
}

// stmt judges a statement: its redirections, and what it runs.
func (j *judge) stmt(st *syntax.Stmt, s *state) finding {
	if *j.steps++; *j.steps > maxSteps {
		return opaque("it is more than can be followed")
	}
	s.moved = nil
	f := understood
	switch {
	case st.Background, st.Coprocess, st.Disown:
		f = opaque("it runs something in the background")
	}
	for _, r := range st.Redirs {
		f = stricter(f, j.redirect(r, s))
	}
	if st.Cmd == nil {
		if len(st.Redirs) == 0 {
			f = stricter(f, opaque("it runs no command"))
		}
		return j.located(f, st)
	}
	before := s
	if st.Background || st.Coprocess {
		before = s.clone()
	}
	f = stricter(f, j.command(st.Cmd, before))
	if readsScript(st) && len(st.Redirs) > 0 {
		f = stricter(f, opaque("it gives a shell a script"))
	}
	return j.located(f, st)
}

func readsScript(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	return ok && unwrap(wordsOf(call)).runs(isRunner)
}

// command has a rule for every kind of node; one that is not here is not understood.
func (j *judge) command(c syntax.Command, s *state) finding {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c, s)
	case *syntax.BinaryCmd:
		return j.binary(c, s)
	case *syntax.Subshell:
		return j.list(c.Stmts, s.clone())
	case *syntax.Block:
		return j.list(c.Stmts, s)
	case *syntax.IfClause:
		return j.ifClause(c, s)
	case *syntax.WhileClause:
		return j.loop(s, func(in *state) finding { return stricter(j.list(c.Cond, in), j.list(c.Do, in)) }, c)
	case *syntax.ForClause:
		return j.forClause(c, s)
	case *syntax.CaseClause:
		return j.caseClause(c, s)
	case *syntax.TestClause:
		return j.condition(c.X, s)
	case *syntax.ArithmCmd:
		return j.arithmetic(c.X, s)
	case *syntax.LetClause:
		f := understood
		for _, x := range c.Exprs {
			f = stricter(f, j.arithmetic(x, s))
		}
		return f
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return understood
		}
		return j.stmt(c.Stmt, s)
	case *syntax.FuncDecl:
		return stricter(opaque("it declares a function"), j.stmt(c.Body, &state{dirs: s.dirs, lost: true, vars: map[string]value{}}))
	case *syntax.DeclClause:
		return j.declaration(c, s)
	case *syntax.CoprocClause:
		return stricter(opaque("it runs a coprocess"), j.stmt(c.Stmt, s.clone()))
	case *syntax.TestDecl:
		return opaque("it declares a test")
	}
	return opaque("it holds %T, which no rule is for", c)
}

// binary judges lists and pipes. Behind && the command before has succeeded; behind || it has not, and may have done
// anything in between.
func (j *judge) binary(c *syntax.BinaryCmd, s *state) finding {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		f := j.stmt(c.X, s)
		then := s.clone()
		if c.Op == syntax.AndStmt && s.moved != nil {
			then.dirs = s.moved
		}
		f = stricter(f, j.stmt(c.Y, then))
		s.merge(then)
		if c.Op == syntax.AndStmt {
			s.moved = then.moved
		}
		return f
	case syntax.Pipe, syntax.PipeAll:
		fed := s.clone()
		fed.named = listsNames(c.X)
		f := stricter(j.stmt(c.X, s.clone()), j.stmt(c.Y, fed))
		if readsScript(c.Y) {
			f = stricter(f, opaque("it gives an interpreter a script through a pipe"))
		}
		return f
	}
	return stricter(opaque("it joins commands in a way that no rule is for"), stricter(j.stmt(c.X, s.clone()), j.stmt(c.Y, s.clone())))
}

func (j *judge) ifClause(c *syntax.IfClause, s *state) finding {
	f := j.list(c.Cond, s)
	other := s.clone()
	f = stricter(f, j.list(c.Then, s))
	if c.Else != nil {
		if len(c.Else.Cond) > 0 {
			f = stricter(f, j.ifClause(c.Else, other))
		} else {
			f = stricter(f, j.list(c.Else.Then, other))
		}
	}
	s.merge(other)
	return f
}

// loop judges what is run any number of times: before it, nothing is known of what it changes itself.
func (j *judge) loop(s *state, body func(*state) finding, n syntax.Node) finding {
	for name, numeric := range assigned(n) {
		v := s.vars[name]
		s.vars[name] = value{number: numeric && v.numeric()}
	}
	if changesDir(n) {
		s.lost = true
	}
	in := s.clone()
	f := body(in)
	s.merge(in)
	return f
}

// assigned are the variables that a part of a script sets, and whether only to numbers.
func assigned(n syntax.Node) map[string]bool {
	out := map[string]bool{}
	set := func(name string, numeric bool) {
		if was, ok := out[name]; ok {
			numeric = numeric && was
		}
		out[name] = numeric
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				set(n.Name.Value, numericWord(n.Value))
			}
		case *syntax.WordIter:
			set(n.Name.Value, false)
		case *syntax.CallExpr:
			if words := wordsOf(n).words; len(words) > 0 && slices.Contains([]string{"read", "mapfile", "readarray", "printf", "getopts", "wait", "unset"}, words[0]) {
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

func changesDir(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			found = found || unwrap(wordsOf(c)).runs(func(name string) bool { return slices.Contains(movers, name) })
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
			return stricter(opaque("it asks for, or loops over, words that are not there"), j.loop(s, func(in *state) finding { return j.list(c.Do, in) }, c))
		}
		f := variable(l.Name.Value)
		var items []value
		for _, w := range l.Items {
			vs, wf := j.words(w, s)
			items, f = append(items, vs...), stricter(f, wf)
		}
		if len(items) > maxItems || slices.ContainsFunc(items, func(v value) bool { return !v.known }) {
			return stricter(f, j.loop(s, func(in *state) finding {
				in.vars[l.Name.Value] = unknown
				return j.list(c.Do, in)
			}, c))
		}
		for _, v := range items {
			before := s.clone()
			s.vars[l.Name.Value] = v
			f = stricter(f, j.list(c.Do, s))
			before.vars[l.Name.Value] = v
			s.merge(before) // it may have been left in the middle
		}
		return f
	}
	return opaque("it loops in a way that no rule is for")
}

func (j *judge) caseClause(c *syntax.CaseClause, s *state) finding {
	_, f := j.words(c.Word, s)
	after := s.clone()
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			f = stricter(f, j.inner(p, s))
		}
		in := s.clone()
		f = stricter(f, j.list(item.Stmts, in))
		after.merge(in)
		s.merge(in) // ;& goes on with the next one
	}
	s.merge(after)
	return f
}

// condition judges [[ … ]].
func (j *judge) condition(x syntax.TestExpr, s *state) finding {
	switch x := x.(type) {
	case *syntax.Word:
		return j.inner(x, s)
	case *syntax.ParenTest:
		return j.condition(x.X, s)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot:
			return j.condition(x.X, s)
		case syntax.TsEmpStr, syntax.TsNempStr:
			return j.condition(x.X, s)
		case syntax.TsVarSet, syntax.TsRefVar, syntax.TsOptSet, syntax.TsFdTerm:
			return opaque("%s looks at a variable by its name", x.Op)
		}
		w, ok := x.X.(*syntax.Word)
		if !ok {
			return opaque("it tests something that is no file")
		}
		return j.files(w, s)
	case *syntax.BinaryTest:
		f := stricter(j.condition(x.X, s), j.condition(x.Y, s))
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			return stricter(f, j.numbers(s, x.X, x.Y))
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					f = stricter(f, j.files(w, s))
				}
			}
		}
		return f
	}
	return opaque("it tests in a way that no rule is for")
}

// files judges a word that is the name of a file which is looked at.
func (j *judge) files(w *syntax.Word, s *state) finding {
	vs, f := j.words(w, s)
	for _, v := range vs {
		f = stricter(f, j.operand(v, kindRead, s))
	}
	return f
}

// numbers judges the sides of a comparison of numbers: anything else is evaluated.
func (j *judge) numbers(s *state, sides ...syntax.TestExpr) finding {
	f := understood
	for _, side := range sides {
		w, ok := side.(*syntax.Word)
		if !ok {
			return opaque("it compares what is no number")
		}
		vs, wf := j.words(w, s)
		f = stricter(f, wf)
		for _, v := range vs {
			if !v.numeric() && !(v.known && isNumber(strings.TrimPrefix(v.text, "-"))) {
				f = stricter(f, opaque("it compares as a number what may be none, and would be evaluated"))
			}
		}
	}
	return f
}

// arithmetic judges an expression: numbers, variables that hold numbers, and what is computed of them.
func (j *judge) arithmetic(x syntax.ArithmExpr, s *state) finding {
	switch x := x.(type) {
	case nil:
		return understood
	case *syntax.ParenArithm:
		return j.arithmetic(x.X, s)
	case *syntax.UnaryArithm:
		return j.arithmetic(x.X, s)
	case *syntax.BinaryArithm:
		if name, ok := x.X.(*syntax.Word); ok && assigns(x.Op) {
			f := stricter(variable(name.Lit()), j.arithmetic(x.Y, s))
			s.vars[name.Lit()] = value{number: true}
			return f
		}
		return stricter(j.arithmetic(x.X, s), j.arithmetic(x.Y, s))
	case *syntax.Word:
		if name := x.Lit(); name != "" && syntax.ValidName(name) {
			if v, ok := s.vars[name]; ok && v.numeric() {
				return understood
			}
			return opaque("it computes with %+q, whose value would be evaluated", bounded(name))
		}
		vs, f := j.words(x, s)
		for _, v := range vs {
			if !v.numeric() {
				return stricter(f, opaque("it computes with what may be no number, and would be evaluated"))
			}
		}
		return f
	}
	return opaque("it computes in a way that no rule is for")
}

// assigns tells whether an operator changes the variable on its left.
func assigns(op syntax.BinAritOperator) bool {
	return slices.Contains([]syntax.BinAritOperator{syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn, syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn,
		syntax.PowAssgn}, op)
}

// declaration judges declare and its kin: only local and readonly of plain variables are understood.
func (j *judge) declaration(c *syntax.DeclClause, s *state) finding {
	f := understood
	if c.Variant.Value != "local" && c.Variant.Value != "readonly" {
		f = opaque("%s can change what programs are started with, or what names mean", c.Variant.Value)
	}
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Value != nil {
			f = stricter(f, opaque("%s is given options or words", c.Variant.Value))
			if a.Value != nil {
				f = stricter(f, j.inner(a.Value, s))
			}
			continue
		}
		f = stricter(f, j.assign(a, s))
	}
	return f
}

// names lists a directory for a glob, once it is known that it may be read.
func (p *Policy) names(dir string) ([]fs.DirEntry, error) {
	if r, ok := p.fs.(interface {
		ReadDir(string) ([]fs.DirEntry, error)
	}); ok {
		return r.ReadDir(dir)
	}
	return nil, fs.ErrPermission
}

// start is the state in which a script begins.
func (p *Policy) start() *state {
	return &state{dirs: []string{filepath.Clean(p.root)}, vars: map[string]value{}}
}
