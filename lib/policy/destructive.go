package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// forbiddenCommand judges one command that may stand anywhere: its name, what it does to the machine, and what it
// wraps.
func (p *Policy) forbiddenCommand(c command, e effort) finding {
	return p.forbiddenIn(c, e, []string{p.root})
}

// forbiddenIn is forbiddenCommand in directories.
func (p *Policy) forbiddenIn(c command, e effort, dirs []string) finding {
	if f := e.tooComplex(); f.blocked {
		return f
	}
	u := e.unwrap(c)
	if u.deep {
		return blocked("shell.unsafe_bytes", "a command that may run more than %d others", maxCommands)
	}
	verdict := finding{}
	for _, part := range u.commands {
		verdict = stricter(verdict, p.destructive(part.name(), part))
	}
	for _, part := range u.commands {
		name := part.name()
		if p.forbids(name) {
			verdict = stricter(verdict, blocked("command.forbidden", "the command %s is forbidden", bounded(name)))
			continue
		}
		if !strings.Contains(part.words[0], "/") || !e.lookAt(part.words[0], len(dirs)) {
			continue
		}
		if is := p.alias(part.words[0], dirs); is != "" {
			verdict = stricter(verdict, blocked("command.forbidden", "%+q is the command %s, which is forbidden",
				bounded(part.words[0]), is))
			verdict = stricter(verdict, p.destructive(is, part))
		}
	}
	for _, text := range u.scripts {
		if verdict.blocked {
			break
		}
		verdict = stricter(verdict, p.nested(text, e))
	}
	return verdict
}

// nested judges a script inside a script. Only what is blocked counts, since a wrapper is high by itself, and a text
// that is no script is no reason to block.
func (p *Policy) nested(text string, e effort) finding {
	if e.level >= maxUnwrap {
		return blocked("shell.unsafe_bytes", "scripts are nested more than %d deep", maxUnwrap)
	}
	return e.remembered(text, func() finding { return onlyBlocked(p.scriptAt(text, e.deeper(), p.start())) })
}

// onlyBlocked leaves what is blocked, and what has to be asked at every level.
func onlyBlocked(f finding) finding {
	if f.blocked && f.rule != "shell.syntax" || !f.blocked && len(f.obeyed) > 0 {
		return f
	}
	return finding{}
}

// destructive are the patterns of the specification, on parsed commands.
func (p *Policy) destructive(name string, c command) finding {
	args := c.words[min(1, len(c.words)):]
	switch {
	case name == "rm" && option(args, "rR", "recursive") && slices.ContainsFunc(args, p.everything):
		return blocked("shell.destructive", "rm -r would delete a whole home, workspace or system directory")
	case strings.HasPrefix(name, "mkfs"):
		return blocked("shell.destructive", "%s overwrites a disk with a new file system", bounded(name))
	case name == "dd" && slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "if=") }):
		return blocked("shell.destructive", "dd overwrites files or disks")
	case stops(name, args):
		return blocked("shell.destructive", "%s shuts down or restarts the machine", name)
	case name == "chown" && option(args, "R", "recursive"):
		return blocked("shell.destructive", "chown -R would change the owner of a whole directory tree")
	case name == "chmod" && option(args, "R", "recursive") && slices.ContainsFunc(args, p.everything) &&
		slices.ContainsFunc(args, func(w string) bool {
			return strings.HasSuffix(w, "777") ||
				strings.Contains(w, "+")
		}):
		return blocked("shell.destructive", "chmod -R would change a whole home, workspace or system directory")
	}
	return finding{}
}

// option tells whether one of the letters, also in a cluster, or the long option, also abbreviated, is given.
func option(args []string, letters, long string) bool {
	for _, w := range args {
		if w == "--" {
			return false
		}
		if name, ok := strings.CutPrefix(w, "--"); ok {
			if strings.HasPrefix(long, name) {
				return true
			}
		} else if strings.HasPrefix(w, "-") && strings.ContainsAny(w, letters) {
			return true
		}
	}
	return false
}

// forkBomb finds a function that starts itself repeatedly (fork bomb).
func forkBomb(f *syntax.FuncDecl, functions []string, e effort) finding {
	if f.Name == nil {
		return finding{}
	}
	calls, background, recursive := 0, false, false
	e.walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if w := e.wordsOf(n); len(w.words) > 0 && e.spend(len(functions)) &&
				slices.Contains(functions, w.words[0]) {
				calls++
				recursive = recursive || w.words[0] == f.Name.Value
			}
		case *syntax.Stmt:
			background = background || n.Background
		}
		return true
	})
	if calls >= 2 && background || calls >= 2 && recursive || recursive && background {
		return blocked("shell.destructive", "a function that starts itself repeatedly (fork bomb)")
	}
	return finding{}
}

// declared are the names of the functions in a script.
func declared(file *syntax.File, e effort) []string {
	var names []string
	e.walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			names = append(names, f.Name.Value)
		}
		return true
	})
	return names
}

// minimum are the patterns of the specification as text, for scripts that cannot be parsed.
var minimum = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`rm\s+-\w*r\w*\s+(-\S+\s+)*[/*]|mkfs|dd\s+if=|:\(\)\s*\{|shutdown|reboot|chmod\s+-R\s+777\s+/|chown\s+-R|(curl|wget)[^|]*\|\s*(ba|da|z|k)?sh`)
})

func destructiveText(text string) finding {
	if minimum().MatchString(text) {
		return blocked("shell.destructive", "it looks destructive and cannot be parsed")
	}
	return finding{}
}
