package policy

import (
	"errors"
	"path/filepath"
)

// Exec is asked again when a permitted script is about to start a program, with the words as they have been expanded: what
// the script hid behind a variable is visible now, paths among them, which are relative to dir. The error says why the program
// must not run.
func (p *Policy) Exec(dir string, argv []string) error {
	c := command{words: argv, literal: make([]bool, len(argv))}
	for i := range c.literal {
		c.literal[i] = true
	}
	if f := stricter(p.forbiddenCommand(c, 0), p.arguments(dir, c)); f.blocked {
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
