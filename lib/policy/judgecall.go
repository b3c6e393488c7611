package policy

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/place"
	"clawsh/lib/policy/programs"
)

// call judges a simple command: its assignments, and the words that it becomes.
func (j *judge) call(c *syntax.CallExpr, s *state) finding {
	if len(c.Args) == 0 {
		f := understood
		for _, a := range c.Assigns {
			f = stricter(f, j.assign(a, s))
		}
		return f
	}
	f := understood
	var argv []value
	for i, w := range c.Args {
		if j.ended(f) {
			return f
		}
		vs, wf := j.words(w, s)
		if i == 0 && !plainWord(w) {
			wf = stricter(wf, opaque("the command to run is not named literally"))
		}
		argv, f = append(argv, vs...), stricter(f, wf)
	}
	first := ""
	if len(argv) > 0 {
		first = argv[0].text
	}
	for _, a := range c.Assigns {
		v := value{known: true}
		if a.Value != nil {
			var vf finding
			v, vf = j.assignedValue(a.Value, s)
			f = stricter(f, vf)
		}
		if a.Append || a.Array != nil || a.Index != nil {
			f = stricter(f, opaque("it fills an array for a command"))
		}
		f = stricter(f, environment(a.Name.Value, v, first))
	}
	return stricter(f, j.run(argv, s, 0))
}

// plainWord tells whether a word is written out: quoted or not, but with nothing to expand in it.
func plainWord(w *syntax.Word) bool {
	_, ok := literal(w)
	return ok || w.Lit() == "["
}

// texts are the words as far as they are known.
func texts(argv []value) []string {
	out := make([]string, len(argv))
	for i, v := range argv {
		out[i] = v.text
	}
	return out
}

// commandOf are the words for the rules that look for what is blocked.
func commandOf(argv []value) command {
	c := command{words: texts(argv), literal: make([]bool, len(argv))}
	for i, v := range argv {
		c.literal[i] = v.known
	}
	return c
}

// positional looks for what is blocked in the words that a script in a word runs by $@.
func (j *judge) positional(argv []value) finding {
	if !isShell(base(argv[0].text)) {
		return finding{}
	}
	for i, v := range argv {
		if strings.Contains(v.text, "$@") || strings.Contains(v.text, "$*") || strings.Contains(v.text, "$1") {
			for k := i + 1; k < min(len(argv), i+4); k++ {
				if f := j.on.forbiddenIn(commandOf(argv[k:]), j.effort, []string{j.on.top()}); f.blocked {
					return f
				}
			}
		}
	}
	return finding{}
}

// maxWrapped bounds how many commands run each other.
const maxWrapped = 12

// run judges a command by its words.
func (j *judge) run(argv []value, s *state, depth int) finding {
	if len(argv) == 0 {
		return opaque("it may run no command, or any")
	}
	return j.speaksOf(argv, j.runs(argv, s, depth), s)
}

func (j *judge) runs(argv []value, s *state, depth int) finding {
	if !argv[0].known {
		return unknownYet("the command it runs")
	}
	if depth > maxWrapped {
		return opaque("commands are nested more than %d deep", maxWrapped)
	}
	name := j.plainName(argv[0].text)
	if name != argv[0].text {
		argv = append([]value{{text: name, known: true}}, argv[1:]...)
	}
	if f := j.on.forbiddenIn(commandOf(argv), j.effort, s.dirs); f.blocked {
		return f
	}
	if f := j.positional(argv); f.blocked {
		return f
	}
	if rule, ok := builtins[name]; ok {
		j.note(name)
		return rule(j, argv[1:], s)
	}
	if !j.on.lists(name) {
		return stricter(high("command.unlisted", "%+q is not on the allowlist", bounded(name)),
			j.everyPath(argv[1:], s, touching))
	}
	if rule, ok := runnerOf(name); ok {
		return rule(j, argv, s, depth)
	}
	j.note(name)
	known, ok := modelled(name)
	if !ok {
		return j.generic(argv, s)
	}
	return known.judge(j, argv, s)
}

// generic judges a listed program without a rule: everything in its words that could be a path.
func (j *judge) generic(argv []value, s *state) finding {
	f := medium("command.allowlist", "runs %s, which is on the allowlist", argv[0].text)
	for _, v := range argv[1:] {
		if !v.known && !v.numeric() {
			f = stricter(f, unknownYet("an argument of it"))
		}
	}
	return stricter(f, j.anyPaths(argv[1:], s))
}

// anyPaths blocks what a command that is not understood names outside.
func (j *judge) anyPaths(args []value, s *state) finding { return j.everyPath(args, s, reading) }

func (j *judge) everyPath(args []value, s *state, a access) finding {
	f := understood
	for _, v := range args {
		if j.ended(f) {
			break
		}
		if !v.known {
			if i := strings.LastIndexByte(v.text, '/'); i >= 0 {
				f = stricter(f, onlyBlocked(j.path(v.text[:i+1], a, s)))
			}
			continue
		}
		if v.text == "/dev/null" {
			continue
		}
		for _, c := range candidates(v.text) {
			f = stricter(f, onlyBlocked(j.path(c, a, s)))
		}
	}
	return f
}

// path judges a path in every directory that the script may be in.
func (j *judge) path(text string, a access, s *state) finding {
	if filepath.IsAbs(text) || strings.HasPrefix(text, "~") {
		if !j.lookAt(text, 1) {
			return opaque("it is too complex to analyse")
		}
		return j.on.word(j.on.top(), text, a)
	}
	f := understood
	if !j.lookAt(text, len(s.dirs)) {
		return opaque("it is too complex to analyse")
	}
	if s.lost || len(s.dirs) == 0 {
		f = unknownYet("the directory of the path %+q", bounded(text))
	}
	for _, d := range s.dirs {
		f = stricter(f, j.on.word(d, text, a))
	}
	return f
}

// operand judges one word by what it is to a program.
func (j *judge) operand(v value, k programs.Kind, s *state) finding {
	switch {
	case k == programs.Text:
		return understood
	case v.numeric() && k == programs.Number:
		return understood
	case !v.known && v.number:
		return medium("path.workspace", "its file name is a number") // a file of that name, if any, is here
	case !v.known:
		f := unknownYet("a file name in it")
		if i := strings.LastIndexByte(v.text, '/'); i >= 0 {
			f = stricter(f, onlyBlocked(j.path(v.text[:i+1], reading, s)))
		}
		return f
	case k == programs.Number:
		if strings.Trim(v.text, "0123456789.+-kKmMgGbBcwTPEs,d%h") != "" {
			return opaque("%+q is not a number", bounded(v.text))
		}
		return understood
	}
	if v.text == "" || v.text == "-" {
		if k == programs.Write {
			return medium("path.workspace", "writes to its output, or to a file of that name")
		}
		return understood // no file, or standard input
	}
	if k == programs.Write {
		if strings.HasPrefix(filepath.Base(v.text), "-") {
			return high("path.option", "a later command would take %+q for an option", bounded(v.text))
		}
		if v.text == "/dev/null" {
			return understood
		}
		f := j.path(v.text, writing, s)
		if f.rank() < 2 && slices.ContainsFunc(strings.Split(v.text, "/"),
			func(part string) bool { return strings.EqualFold(part, ".git") }) {
			return high("path.git", "%+q is in .git, which only git may write", bounded(v.text))
		}
		return f
	}
	if v.text == "/dev/null" || v.text == "/dev/stdin" {
		return understood
	}
	f := j.path(v.text, reading, s)
	if k == programs.Tree && !f.blocked {
		f = stricter(f, j.tree(v.text, s))
	}
	return f
}

// Bounds of the search for links in a tree.
const (
	treeEntries = 2000
	treeDepth   = 12
)

// tree refuses a directory in which links lead out: the program would follow them.
func (j *judge) tree(text string, s *state) finding {
	f, left := understood, treeEntries
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, err := j.readDir(j.on, dir)
		if err != nil && !place.Absent(err) {
			f = stricter(f, opaque("%+q is too large to examine: name a smaller directory", bounded(text)))
		}
		for _, e := range entries {
			if left--; left < 0 || depth > treeDepth || !j.spend(20) {
				f = stricter(f, opaque("%+q is too large to examine: name a smaller directory", bounded(text)))
			}
			if left < 0 || depth > treeDepth || j.ended(f) {
				return
			}
			path := filepath.Join(dir, e.Name())
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				f = stricter(f, j.on.pathFrom(j.on.top(), path, reading))
			case e.IsDir():
				walk(path, depth+1)
			}
		}
	}
	for _, d := range s.dirs {
		if j.ended(f) {
			break
		}
		path := text
		if !filepath.IsAbs(path) {
			path = filepath.Join(d, path)
		}
		walk(path, 0)
	}
	return f
}

// nestedScript judges a text that a command runs as a script.
func (j *judge) nestedScript(text string, s *state) finding {
	if j.level >= maxUnwrap {
		return blocked("shell.unsafe_bytes", "scripts are nested more than %d deep", maxUnwrap)
	}
	return onlyBlocked(j.on.scriptAt(text, j.deeper(), s))
}
