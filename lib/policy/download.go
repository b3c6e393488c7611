package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/policy/programs"
)

// interpreters are the names of programs that run what they are given, each with a version or without.
var interpreters = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(python|perl|ruby|node|php|lua|tclsh)[0-9.]*$`)
})

func isDownloader(name string) bool { return programs.Is(name, programs.Downloads) }

func isShell(name string) bool { return programs.Is(name, programs.Shell) }

// isRunner tells whether a command runs the text that it is given.
func isRunner(name string) bool {
	return isShell(name) || name == "source" || name == "." || name == "eval" || interpreters().MatchString(name)
}

// pipeline judges pipes: a download must not end in an interpreter, and what is printed into a shell is a script. Each
// chain of pipes is looked at once, as a whole.
func (p *Policy) pipeline(n *syntax.BinaryCmd, l *landmarks, seen map[*syntax.BinaryCmd]bool, e effort) finding {
	if n.Op != syntax.Pipe && n.Op != syntax.PipeAll || seen[n] {
		return finding{}
	}
	verdict, download := finding{}, false
	var before *syntax.Stmt
	for _, s := range flatten(n, seen, nil) {
		if download && within(s, l.runs) {
			return blocked("shell.destructive", "it runs what it downloads")
		}
		if before != nil && within(s, l.shells) {
			verdict = stricter(verdict, p.printed(before, e))
		}
		download = download || within(s, l.downloads)
		before = s
	}
	return verdict
}

// flatten lists the stages of a chain of pipes.
func flatten(n *syntax.BinaryCmd, seen map[*syntax.BinaryCmd]bool, out []*syntax.Stmt) []*syntax.Stmt {
	seen[n] = true
	for _, s := range []*syntax.Stmt{n.X, n.Y} {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
			out = flatten(b, seen, out)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// printed judges what echo or printf print, as a script.
func (p *Policy) printed(s *syntax.Stmt, e effort) finding {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return finding{}
	}
	c := e.wordsOf(call)
	if name := c.name(); name != "echo" && name != "printf" {
		verdict := finding{}
		for _, r := range s.Redirs {
			if r.Hdoc != nil {
				text, _ := literal(r.Hdoc)
				verdict = stricter(verdict, p.nested(text, e))
			}
		}
		return verdict
	}
	verdict := p.nested(strings.Join(c.words[1:], " "), e)
	for _, w := range c.words[1:] {
		if verdict.blocked || !strings.ContainsAny(w, " \t\n") {
			continue
		}
		verdict = stricter(verdict, p.nested(w, e))
	}
	return verdict
}

// landmarks are the places in a script, by offset and in order, where commands of some kinds stand, wrapped or not.
type landmarks struct{ downloads, runs, shells []uint }

// survey finds the landmarks of a script, in one pass: scripts are deep enough to make searching every part of them
// slow.
func survey(file *syntax.File, e effort) *landmarks {
	l := &landmarks{}
	e.walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			at, u := c.Pos().Offset(), e.unwrap(e.wordsOf(c))
			if u.runs(isDownloader) {
				l.downloads = append(l.downloads, at)
			}
			if u.runs(isRunner) {
				l.runs = append(l.runs, at)
			}
			if u.runs(isShell) {
				l.shells = append(l.shells, at)
			}
		}
		return true
	})
	for _, places := range [][]uint{l.downloads, l.runs, l.shells} {
		slices.Sort(places)
	}
	return l
}

// within tells whether one of the places is in a part of the script.
func within(n syntax.Node, places []uint) bool {
	if len(places) == 0 {
		return false
	}
	i, _ := slices.BinarySearch(places, n.Pos().Offset())
	return i < len(places) && places[i] < n.End().Offset()
}

// runsDownload finds an interpreter that is given a download by substitution: sh <(curl …), eval "$(curl …)".
func runsDownload(n *syntax.CallExpr, l *landmarks) finding {
	if len(n.Args) == 0 {
		return finding{}
	}
	if _, runs := slices.BinarySearch(l.runs, n.Pos().Offset()); !runs {
		return finding{}
	}
	for _, w := range n.Args {
		if within(w, l.downloads) {
			return blocked("shell.destructive", "it runs what it downloads")
		}
	}
	return finding{}
}
