package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// forbiddenCommand judges one command that may stand anywhere: its name, what it does to the machine, and what it wraps.
func (p *Policy) forbiddenCommand(c command, level int) finding {
	name := c.name()
	if name == "" {
		return finding{}
	}
	if slices.Contains(p.never, name) {
		if f := destructive(name, c); f.blocked {
			return f
		}
		return blocked("command.forbidden", "the command %s is forbidden", name)
	}
	verdict := destructive(name, c)
	for _, inner := range p.unwrap(name, c, level) {
		verdict = stricter(verdict, inner)
	}
	return verdict
}

// destructive are the patterns of the specification, on parsed commands.
func destructive(name string, c command) finding {
	switch {
	case name == "rm" && option(c, 'r', "recursive", 'R') && slices.ContainsFunc(c.words[1:], everything):
		return blocked("shell.destructive", "rm -r of everything")
	case name == "mkfs" || strings.HasPrefix(name, "mkfs."):
		return blocked("shell.destructive", "%s makes a file system over what is there", name)
	case name == "dd" && slices.ContainsFunc(c.words[1:], func(w string) bool { return strings.HasPrefix(w, "if=") }):
		return blocked("shell.destructive", "dd if= copies over what is there")
	case name == "shutdown" || name == "reboot" || name == "halt" || name == "poweroff":
		return blocked("shell.destructive", "%s stops the machine", name)
	case name == "chown" && option(c, 'R', "recursive"):
		return blocked("shell.destructive", "chown -R gives everything to somebody else")
	case name == "chmod" && option(c, 'R', "recursive") && slices.ContainsFunc(c.words[1:], everything) &&
		slices.ContainsFunc(c.words[1:], func(w string) bool { return strings.HasSuffix(w, "777") || strings.Contains(w, "+") }):
		return blocked("shell.destructive", "chmod -R of everything")
	}
	return finding{}
}

// option tells whether one of the single-letter options, also in a cluster, or the long one, also abbreviated, is given.
func option(c command, letter byte, long string, more ...byte) bool {
	for _, w := range c.words[1:] {
		if w == "--" {
			return false
		}
		if name, ok := strings.CutPrefix(w, "--"); ok {
			if name != "" && strings.HasPrefix(long, name) {
				return true
			}
			continue
		}
		if strings.HasPrefix(w, "-") {
			for i := 1; i < len(w); i++ {
				if w[i] == letter || slices.Contains(more, w[i]) {
					return true
				}
			}
		}
	}
	return false
}

// everything tells whether a word means all there is, here or on the machine.
func everything(w string) bool {
	if strings.HasPrefix(w, "-") {
		return false
	}
	trimmed := strings.TrimRight(w, "/")
	return w != "" && (trimmed == "" || slices.Contains([]string{"*", "/*", ".", "./*", "..", "../*", "~", "~/*", ".*", "/.", "/..", "$HOME"}, trimmed))
}

var (
	downloaders = []string{"curl", "wget", "fetch", "aria2c", "lynx"}
	shells      = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "busybox"}
	others      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(python|perl|ruby|node|php|lua|tclsh)[0-9.]*$`) })
)

// downloadPipe finds a download that is piped into an interpreter.
func downloadPipe(n *syntax.BinaryCmd) finding {
	if !mentions(n.X, func(name string) bool { return slices.Contains(downloaders, name) }) {
		return finding{}
	}
	runs := func(name string) bool {
		return slices.Contains(shells, name) || others().MatchString(name) || name == "source" || name == "." || name == "eval"
	}
	if mentions(n.Y, runs) {
		return blocked("shell.destructive", "it runs what it downloads")
	}
	return finding{}
}

// mentions tells whether a statement runs a command of that kind, or names one as an argument of a wrapper.
func mentions(s *syntax.Stmt, is func(string) bool) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			words := wordsOf(c)
			for i, w := range words.words {
				if i > 0 && !wrappers[words.name()] {
					break
				}
				found = found || is(base(w))
			}
		}
		return !found
	})
	return found
}

// forkBomb finds a function that pipes itself into itself in the background.
func forkBomb(f *syntax.FuncDecl) finding {
	calls, background := 0, false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if w := wordsOf(n); len(w.words) > 0 && w.words[0] == f.Name.Value {
				calls++
			}
		case *syntax.Stmt:
			background = background || n.Background
		}
		return true
	})
	if calls >= 2 || calls > 0 && background {
		return blocked("shell.destructive", "a function that starts itself again and again")
	}
	return finding{}
}

// minimum are the patterns of the specification as text, for scripts that cannot be parsed.
var minimum = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`rm\s+-\w*r\w*\s+(-\S+\s+)*[/*]|mkfs|dd\s+if=|:\(\)\s*\{|shutdown|reboot|chmod\s+-R\s+777\s+/|chown\s+-R|(curl|wget)[^|]*\|\s*(ba|da|z|k)?sh`)
})

func destructiveText(text string) finding {
	if minimum().MatchString(text) {
		return blocked("shell.destructive", "it looks destructive, and cannot be parsed")
	}
	return finding{}
}
