package policy

import (
	"errors"
	"path/filepath"
)

// Exec is ExecIn in the workspace.
func (p *Policy) Exec(argv []string) error { return p.ExecIn(p.workspace, argv) }

// ExecIn is asked again when a permitted script is about to start a program in a directory, with the words as they have been
// expanded: what the script hid behind a variable is visible now, paths among them. The error says why the program must not
// run.
func (p *Policy) ExecIn(dir string, argv []string) error {
	c := command{words: argv, literal: make([]bool, len(argv))}
	for i := range c.literal {
		c.literal[i] = true
	}
	f := p.forbiddenCommand(c, 0)
	if f = stricter(f, p.arguments(dir, c)); f.blocked {
		return errors.New(f.reason)
	}
	return nil
}

// Access is asked again when a permitted call is about to open or examine a file by its absolute path.
func (p *Policy) Access(path string, write bool) error {
	if path == "/dev/null" {
		return nil
	}
	if f := p.path(filepath.Clean(path), access(write)); f.blocked {
		return errors.New(f.reason)
	}
	return nil
}
