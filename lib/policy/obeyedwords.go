package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/obeyed"
	"clawsh/lib/policy/programs"
)

// speaksOf is the floor under every command that is not proven to only read: a word of it, or a part of one, that names
// a file which other programs obey is taken for a file that it writes.
func (j *judge) speaksOf(argv []value, f finding, s *state) finding {
	name := argv[0].text
	if name == "xargs" && !xargsReads(argv) {
		f = j.toldOf(f, s)
	}
	_, known := modelled(name)
	if f.rank() < 1 || f.blocked || f.rank() == 1 && (known || runs(name) && !anyCode(name)) || j.onlySpeaks(argv) {
		return f
	}
	for i, v := range argv[1:] {
		if j.ended(f) {
			break
		}
		f = stricter(f, j.namesIn(v.text, s, name == "git" && revision(argv, i+1)))
	}
	return f
}

// xargsReads tells whether xargs runs a program that only reads. Where an option is unknown, so is the program.
func xargsReads(argv []value) bool {
	for i := 1; i < len(argv); i++ {
		switch w := argv[i].text; {
		case slices.Contains([]string{"-I", "-n", "-P", "-L", "-d"}, w):
			i++
		case slices.Contains([]string{"-0", "-r", "-t", "-x", "--"}, w),
			shortValue(w, []string{"-I", "-n", "-P", "-L", "-d"}):
		default:
			return programs.Is(w, programs.AnyWords)
		}
	}
	return true
}

// revision tells whether HEAD in a word of git is a commit, and no file.
func revision(argv []value, at int) bool {
	if slices.Contains([]string{"--", "-o", "--output"}, argv[at-1].text) || strings.HasPrefix(argv[at].text, "-") {
		return false
	}
	return !slices.ContainsFunc(argv[1:], func(v value) bool { return v.text == "mv" || v.text == "restore" })
}

// onlySpeaks tells whether a command writes none of the files that its words name, whatever else is unknown about it.
func (j *judge) onlySpeaks(argv []value) bool {
	name := argv[0].text
	if _, builtin := builtins[name]; builtin || programs.Is(name, programs.AnyWords) {
		return true
	}
	p, ok := programs.Find(name)
	return ok && len(argv) > 1 && slices.Contains(p.Keeps, argv[1].text)
}

// namesIn finds files that other programs obey in a text: its parts between what seldom stands in a name. HEAD is the
// name of a commit as well, which revision tells.
func (j *judge) namesIn(text string, s *state, revision bool) finding {
	f := understood
	if !j.spend(1 + len(text)/8) {
		return f
	}
	parts := strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`<>|;&(){}[]=:,!?#$", r)
	})
	if strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") {
		for _, c := range candidates(text) { // the value of a short option
			if len(c) < len(text) {
				parts = append(parts, c)
			}
		}
	}
	for _, part := range parts {
		if !j.spend(60) {
			return f
		}
		row, ok := obeyed.Match(part)
		if !ok || slices.Contains(row.Names, ".git") || path.Base(part) == "HEAD" && row.Exact && revision {
			continue
		}
		places := j.named(part, s)
		if len(places) == 0 {
			places = []string{part}
		}
		f = stricter(f, heeded(part, row, places...))
	}
	return f
}

// printed are the words that echo and printf in a part of a pipe give to what comes after it.
func (j *judge) printed(st *syntax.Stmt, s *state, most int) []value {
	var out []value
	for _, r := range st.Redirs {
		if r.Op == syntax.WordHdoc {
			vs, _ := j.become(r.Word, s, understood)
			out = append(out, vs...)
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe && most > 0 && !j.ended(finding{}) {
			return append(out, append(j.printed(c.X, s, most-1), j.printed(c.Y, s, most-1)...)...)
		}
	case *syntax.CallExpr:
		if slices.Contains([]string{"echo", "printf"}, j.wordsOf(c).name()) {
			for _, w := range c.Args[1:] {
				vs, _ := j.become(w, s, understood)
				out = append(out, vs...)
			}
		}
	}
	return out
}

// toldOf is the floor for a program that takes words from its input.
func (j *judge) toldOf(f finding, s *state) finding {
	if f.rank() < 2 || f.blocked {
		return f
	}
	for _, v := range s.told {
		for line := range strings.SplitSeq(v.text, `\n`) {
			f = stricter(f, j.namesIn(line, s, false))
		}
	}
	return f
}
