package policy

import (
	"fmt"
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
	fixed  bool // of a variable: it may be read-only, so that assigning to it may fail
}

// unknown is a value that only the running script knows.
var unknown = value{}

// state is what is known at one point of a script: the directories that it may be in, and its variables.
type state struct {
	dirs []string // possible working directories
	lost bool     // or any other
	vars map[string]value

	told  []value  // what is known of the words in its input
	named bool     // its input is a list of names of the workspace
	found *found   // which names, if they are not judged yet
	moved []string // where it is if the last command, a cd, has succeeded
}

func (s *state) clone() *state {
	return &state{dirs: slices.Clone(s.dirs), lost: s.lost, vars: maps.Clone(s.vars), named: s.named, found: s.found,
		told: s.told}
}

// maxDirs is how many possible directories are followed.
const maxDirs = 4

// fork is a state that goes another way from here.
func (j *judge) fork(s *state) *state {
	if !j.spend(1 + 4*len(s.vars)) { // it is merged again, too
		return &state{lost: true, vars: map[string]value{}}
	}
	return s.clone()
}

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
	return value{number: both && a.numeric() && b.numeric(), fixed: a.fixed || b.fixed}
}

// set gives a variable a value; what it has then is not known if it may be read-only.
func (s *state) set(name string, v value) {
	if s.vars[name].fixed {
		v = value{fixed: true}
	}
	s.vars[name] = v
}

func (v value) numeric() bool { return v.number || v.known && isNumber(v.text) }

func isNumber(s string) bool {
	return s != "" && len(s) < 19 && strings.Trim(s, "0123456789") == ""
}

// judge follows one script through all that it can do.
type judge struct {
	effort
	on    ground
	src   string
	names []string // programs that it runs, in order, each once
	free  []string // those among them that run any code
	exact bool     // the words are those of a program that is about to start
	timed bool     // what is judged is ended by a timeout
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

// unknownYet is the finding about what only the running script knows.
func unknownYet(what string, args ...any) finding {
	return opaque(what+" is only known at run time", args...)
}

// unknownOption is the finding about an option that is not known.
func unknownOption(program, option string) finding {
	return opaque("%s: unknown option %+q", program, bounded(option))
}

// list judges statements one after the other.
func (j *judge) list(stmts []*syntax.Stmt, s *state) finding {
	f := understood
	for _, st := range stmts {
		if j.ended(f) {
			break
		}
		f = stricter(f, j.stmt(st, s))
	}
	return f
}

// stmt judges a statement: its redirections, and what it runs.
func (j *judge) stmt(st *syntax.Stmt, s *state) finding {
	if j.statements++; j.statements > maxStatements || !j.spend(4) {
		return opaque("it is too complex to analyse")
	}
	s.moved = nil
	f := understood
	if told := j.printed(&syntax.Stmt{Redirs: st.Redirs}, s, 0); len(told) > 0 {
		s.told = told
	}
	switch {
	case st.Background, st.Coprocess, st.Disown:
		f = opaque("it runs a command in the background")
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
		before = j.fork(s)
	}
	f = stricter(f, j.command(st.Cmd, before))
	if j.readsScript(st) && len(st.Redirs) > 0 {
		f = stricter(f, opaque("it passes a script to a shell"))
	}
	return j.located(f, st)
}

// readsScript tells whether a command runs its input, unless the operator has listed it: then any code is what was
// allowed.
func (j *judge) readsScript(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	u := j.unwrap(j.wordsOf(call))
	return u.runs(isRunner) && !j.mayBeFed(u)
}

// command has a rule for every kind of node; one that is not here is not understood.
func (j *judge) command(c syntax.Command, s *state) finding {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c, s)
	case *syntax.BinaryCmd:
		return j.binary(c, s)
	case *syntax.Subshell:
		return j.list(c.Stmts, j.fork(s))
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
		return stricter(opaque("it declares a function"),
			j.stmt(c.Body, &state{dirs: s.dirs, lost: true, vars: map[string]value{}}))
	case *syntax.DeclClause:
		return j.declaration(c, s)
	case *syntax.CoprocClause:
		return stricter(opaque("it runs a coprocess"), j.stmt(c.Stmt, j.fork(s)))
	case *syntax.TestDecl:
		return opaque("it declares a test")
	}
	return opaque("unsupported shell syntax")
}

// binary judges lists and pipes. Behind && the command before has succeeded; behind || it has not, and may have done
// anything in between.
func (j *judge) binary(c *syntax.BinaryCmd, s *state) finding {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		f := j.stmt(c.X, s)
		then := j.fork(s)
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
		fed := j.fork(s)
		fed.found = j.lists(c.X, s, maxPipe)
		fed.named = fed.found != nil
		fed.told = j.printed(c.X, s, maxPipe)
		f := stricter(j.stmt(c.X, j.fork(s)), j.stmt(c.Y, fed))
		if j.readsScript(c.Y) {
			f = stricter(f, opaque("it pipes a script into an interpreter"))
		}
		return f
	}
	return stricter(opaque("it joins commands in an unsupported way"),
		stricter(j.stmt(c.X, j.fork(s)), j.stmt(c.Y, j.fork(s))))
}

func (j *judge) ifClause(c *syntax.IfClause, s *state) finding {
	f := j.list(c.Cond, s)
	other := j.fork(s)
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

// declaration judges declare and its kin: only local and readonly of plain variables are understood.
func (j *judge) declaration(c *syntax.DeclClause, s *state) finding {
	f := understood
	if c.Variant.Value != "local" && c.Variant.Value != "readonly" {
		f = opaque("%s can change the environment of programs, or the meaning of names", c.Variant.Value)
	}
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Value != nil {
			f = stricter(f, opaque("%s has options or arguments", c.Variant.Value))
			if a.Value != nil {
				f = stricter(f, j.inner(a.Value, s))
			}
			continue
		}
		before, had := s.vars[a.Name.Value]
		f = stricter(f, j.assign(a, s))
		v := s.vars[a.Name.Value]
		switch {
		case c.Variant.Value == "local": // an error outside of a function, and in one not followed
			v = value{fixed: before.fixed}
		case a.Naked && had:
			v = before
		case a.Naked:
			v = unknown
		}
		v.fixed = v.fixed || c.Variant.Value == "readonly"
		s.vars[a.Name.Value] = v
	}
	return f
}

// start is the state in which a script begins.
func (p *Policy) start() *state {
	return &state{dirs: []string{filepath.Clean(p.root)}, vars: map[string]value{}}
}
