package policy

import (
	"io/fs"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/policy/programs"
)

// special are the parameters whose values are numbers or nothing, in any script.
var special = []string{"?", "#", "$", "!", "LINENO", "SECONDS", "RANDOM", "EPOCHSECONDS"}

// words expands a word as the interpreter will: into no, one or several values. What only the running script can know
// is unknown; the commands in it are judged.
func (j *judge) words(w *syntax.Word, s *state) ([]value, finding) {
	if j.ended(finding{}) {
		return []value{unknown}, opaque("it is too complex to analyse")
	}
	return j.become(w, s, j.inner(w, s))
}

// become is words without what is found about the commands in the word.
func (j *judge) become(w *syntax.Word, s *state, f finding) ([]value, finding) {
	if dotPattern(w.Lit()) {
		f = stricter(f, opaque("a pattern that begins with a dot may mean the directory above"))
	}
	if !j.known(w, s) {
		return []value{{text: beginning(w), number: len(w.Parts) == 1 && j.isNumeric(w.Parts[0], s)}}, f
	}
	if strings.HasPrefix(w.Lit(), "~") || startsTilde(w) {
		return []value{{text: tildeText(w), known: true}}, f
	}
	return j.expanded(w, s, f)
}

// known tells whether a word is made of what is known before the script runs.
func (e effort) known(w *syntax.Word, s *state) bool {
	known := true
	e.walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob, *syntax.ArithmExp:
			known = false
		case *syntax.ParamExp:
			if v, ok := s.vars[name(n)]; (!ok || !v.known) && name(n) != "PWD" {
				known = false
			}
		}
		return known
	})
	return known
}

// value is what is known of a variable in a directory.
func (s *state) value(dir string) lookup {
	return func(name string) (string, bool) {
		if name == "PWD" {
			return dir, true
		}
		v, ok := s.vars[name]
		return v.text, ok && v.known
	}
}

// beginning is what an unknown word is known to begin with.
func beginning(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		text, ok := literal(&syntax.Word{Parts: []syntax.WordPart{part}})
		if q, isQuoted := part.(*syntax.DblQuoted); isQuoted && !ok {
			b.WriteString(beginning(&syntax.Word{Parts: q.Parts}))
		}
		if !ok {
			break
		}
		b.WriteString(text)
	}
	return b.String()
}

// dotPattern tells whether a part of a path is a pattern that begins with a dot.
func dotPattern(lit string) bool {
	for part := range strings.SplitSeq(lit, "/") {
		if strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") {
			return true
		}
	}
	return false
}

func name(n *syntax.ParamExp) string {
	if n.Param == nil {
		return ""
	}
	return n.Param.Value
}

// isNumeric tells whether a part of a word can only be a number.
func (j *judge) isNumeric(part syntax.WordPart, s *state) bool {
	switch part := part.(type) {
	case *syntax.DblQuoted:
		return len(part.Parts) == 1 && j.isNumeric(part.Parts[0], s)
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		if part.Length {
			return true
		}
		return part.Short && (slices.Contains(special, name(part)) || s.vars[name(part)].numeric())
	}
	return false
}

func startsTilde(w *syntax.Word) bool {
	if len(w.Parts) == 0 {
		return false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	return ok && strings.HasPrefix(lit.Value, "~")
}

// tildeText is a word with a tilde as it is written: it is outside, wherever the home is.
func tildeText(w *syntax.Word) string {
	text, _ := literal(w)
	return text
}

// expanded expands a word in each directory that the script may be in.
func (j *judge) expanded(w *syntax.Word, s *state, f finding) ([]value, finding) {
	if text, ok := literal(w); ok {
		return []value{{text: text, known: true}}, f
	}
	var out []value
	certain := !s.lost && len(s.dirs) > 0
	for _, dir := range s.dirs {
		if j.ended(f) {
			return []value{{text: beginning(w)}}, f
		}
		refused := finding{}
		fields, ok := j.expandWord(w, s.value(dir),
			func(path string) ([]fs.DirEntry, error) { return j.listed(path, &refused) })
		f = stricter(f, refused)
		certain = certain && ok
		for _, t := range fields {
			if v := (value{text: t, known: true}); ok && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if !certain {
		return append(out, value{text: beginning(w)}), f
	}
	return out, f
}

// listed lists a directory for a pattern. Of those above the workspace nothing is told, as when it runs.
func (j *judge) listed(path string, refused *finding) ([]fs.DirEntry, error) {
	if j.on.above(path) {
		return nil, nil
	}
	if f := onlyBlocked(j.on.pathFrom(j.on.top(), path, reading)); f.blocked {
		*refused = stricter(*refused, f)
		return nil, fs.ErrNotExist
	}
	if !j.lookAt(path, 1) {
		return nil, errManyNames
	}
	entries, err := j.readDir(j.on, path)
	if !j.spend(2 * len(entries)) { // each is matched
		return nil, errManyNames
	}
	return entries, err
}

// inner judges the commands, the arithmetic and the parameters in a word.
func (j *judge) inner(n syntax.Node, s *state) finding {
	f := understood
	j.walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			f = stricter(f, j.list(n.Stmts, j.fork(s)))
			return false
		case *syntax.ProcSubst:
			f = stricter(f, stricter(opaque("process substitution is not supported: use a pipe or a file"),
				j.list(n.Stmts, j.fork(s))))
			return false
		case *syntax.ArithmExp:
			f = stricter(f, j.arithmetic(n.X, s))
			return false
		case *syntax.ExtGlob:
			f = stricter(f, stricter(opaque("it uses an extended pattern"), j.nestedScript(n.Pattern.Value, s)))
		case *syntax.ParamExp:
			f = stricter(f, j.parameter(n, s))
			if n.Slice != nil {
				f = stricter(f, stricter(j.arithmetic(n.Slice.Offset, s), j.arithmetic(n.Slice.Length, s)))
				if n.Index != nil {
					f = stricter(f, j.inner(n.Index, s))
				}
				return false
			}
		}
		return true
	})
	return f
}

// parameter judges ${…}: plain uses are understood; what gives a name to a variable, or runs it, is not.
func (j *judge) parameter(n *syntax.ParamExp, s *state) finding {
	switch {
	case !j.given(name(n), s):
		return stricter(high("shell.environment", "%+q is a variable that the script does not set", bounded(name(n))),
			j.parameterWords(n, s))
	case n.Excl, n.Names != 0, n.Index != nil:
		return opaque("it uses a variable named by another variable")
	case n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull ||
		n.Exp.Op == syntax.OtherParamOps):
		return opaque("it changes or evaluates a variable during expansion")
	}
	return understood
}

// given tells whether a variable is the script's own, or tells nothing that is secret.
func (j *judge) given(name string, s *state) bool {
	if _, ok := s.vars[name]; ok {
		return true
	}
	return slices.Contains(special, name) ||
		slices.Contains([]string{"PWD", "HOME", "USER", "LANG", "TMPDIR", "REPLY", "BASH_VERSION", "HOSTNAME", "UID",
			"EUID", "WORKSPACE_ROOT",
			"WORKSPACE_INPUT", "WORKSPACE_DATA", "WORKSPACE_OUTPUT", "SOURCE_DATE_EPOCH", "CLAWSH_SEED"}, name)
}

// parameterWords judges what stands in the word of an expansion, such as a default.
func (j *judge) parameterWords(n *syntax.ParamExp, s *state) finding {
	if n.Exp == nil || n.Exp.Word == nil {
		return understood
	}
	vs, f := j.become(n.Exp.Word, s, understood)
	for _, v := range vs {
		if v.known && strings.Contains(v.text, "/") {
			f = stricter(f, onlyBlocked(j.path(v.text, reading, s)))
		}
	}
	return f
}

// redirect judges a redirection.
func (j *judge) redirect(r *syntax.Redirect, s *state) finding {
	f := understood
	if r.Hdoc != nil {
		f = j.inner(r.Hdoc, s)
	}
	if r.N != nil && r.N.Value != "0" && r.N.Value != "1" && r.N.Value != "2" {
		f = stricter(f, opaque("it uses a file descriptor other than 0, 1 and 2"))
	}
	kind := programs.Write
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return f
	case syntax.WordHdoc:
		return stricter(f, j.inner(r.Word, s))
	case syntax.DplIn, syntax.DplOut:
		if lit := r.Word.Lit(); lit == "1" || lit == "2" || lit == "0" || lit == "-" {
			return f
		}
		if r.Op == syntax.DplIn {
			return stricter(f, opaque("it uses a file descriptor other than 0, 1 and 2"))
		}
	case syntax.RdrIn:
		kind = programs.Read
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
	default:
		f = stricter(f, opaque("it uses an unsupported redirection"))
	}
	vs, wf := j.words(r.Word, s)
	f = stricter(f, wf)
	if len(vs) != 1 {
		f = stricter(f, opaque("it redirects to what may be several files or none"))
	}
	for _, v := range vs {
		if v.known && (v.text == "/dev/null" || v.text == "/dev/stdout" || v.text == "/dev/stderr") {
			continue
		}
		f = stricter(f, j.operand(v, kind, s))
	}
	return f
}

// assign judges an assignment of the shell's own variables.
func (j *judge) assign(a *syntax.Assign, s *state) finding {
	f := variable(a.Name.Value)
	if a.Index != nil || a.Array != nil {
		f = stricter(f, opaque("it fills an array"))
	}
	v := value{text: "", known: true}
	if a.Value != nil {
		vs, wf := j.assignedValue(a.Value, s)
		f, v = stricter(f, wf), vs
	}
	if a.Append {
		old, ok := s.vars[a.Name.Value]
		v = value{text: old.text + v.text, known: ok && old.known && v.known, number: false}
	}
	if a.Array != nil {
		v = unknown
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				f = stricter(f, j.inner(e.Value, s))
			}
		}
	}
	s.set(a.Name.Value, v)
	return f
}

// assignedValue is what an assignment gives: there are neither patterns nor splitting in it.
func (j *judge) assignedValue(w *syntax.Word, s *state) (value, finding) {
	f := j.inner(w, s)
	if text, ok := literal(w); ok {
		return value{text: text, known: true}, f
	}
	if startsTilde(w) || !j.known(w, s) {
		return value{number: len(w.Parts) == 1 && j.isNumeric(w.Parts[0], s)}, f
	}
	v := unknown
	for i, dir := range s.dirs {
		text, ok := j.assignedText(w, s.value(dir))
		if !ok || i > 0 && text != v.text {
			return unknown, f
		}
		v = value{text: text, known: !s.lost}
	}
	return v, f
}

// reserved are variables that mean something to the shell, or that programs are started with.
var reserved = []string{"PATH", "HOME", "IFS", "ENV", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "SHELLOPTS",
	"BASHOPTS", "CDPATH", "OLDPWD", "PWD",
	"GLOBIGNORE", "EXECIGNORE", "FIGNORE", "FPATH", "HISTFILE", "HISTCMD", "MAIL", "MAILPATH", "MAILCHECK", "TMPDIR",
	"LANG", "LANGUAGE", "TZ", "TERM", "PAGER", "SHELL",
	"UID", "EUID", "GID", "PPID", "OPTIND", "OPTARG", "OPTERR", "REPLY", "TIMEFORMAT", "TMOUT", "FUNCNEST",
	"POSIXLY_CORRECT", "DIRSTACK", "FUNCNAME", "GROUPS", "COLUMNS", "LINES",
	"SOURCE_DATE_EPOCH", "ZERO_AR_DATE", "CLAWSH_SEED", "PYTHONHASHSEED", "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS"}

// reservedPrefixes begin names of the same kinds.
var reservedPrefixes = []string{"LD_", "DYLD_", "GIT_", "BASH", "LC_", "COMP_", "WORKSPACE_", "GCONV_", "MALLOC_",
	"GLIBC_"}

// variable judges the name of a variable that a script sets for itself.
func variable(name string) finding {
	if name == "LD_PRELOAD" || name == "LD_AUDIT" || name == "LD_LIBRARY_PATH" || name == "BASH_ENV" {
		return high("shell.environment", "%s determines what code programs load", name)
	}
	if slices.Contains(reserved, name) ||
		slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return high("shell.environment", "%+q has a special meaning to the shell or to programs", bounded(name))
	}
	if !syntax.ValidName(name) {
		return opaque("%+q is not a plain variable", bounded(name))
	}
	return understood
}

// harmlessEnv are variables that a command may be started with: they change how it writes, not what it does.
var harmlessEnv = []string{"LANG", "TZ", "NO_COLOR", "CLICOLOR", "COLUMNS", "LINES", "LANGUAGE"}

// environment judges an assignment before a command, which only that command sees.
func environment(name string, v value, builtin string) finding {
	if slices.Contains(harmlessEnv, name) || strings.HasPrefix(name, "LC_") {
		if !v.known || strings.ContainsAny(v.text, "/%") && name != "TZ" || strings.HasPrefix(v.text, "/") ||
			strings.Contains(v.text, "..") {
			return high("shell.environment", "%s is set to what may be a path", name)
		}
		return understood
	}
	if name == "IFS" && builtin == "read" {
		return understood
	}
	if f := variable(name); f.rank() > understood.rank() {
		return f
	}
	return high("shell.environment", "%+q is set for a program, which may use it for anything", bounded(name))
}
