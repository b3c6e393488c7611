package policy

import (
	"io/fs"
	"path/filepath"
	"slices"

	"clawsh/lib/place"
)

// ground is what the judge of scripts asks about where a script would run and what is allowed there. It knows nothing
// else of the configuration.
type ground interface {
	// top is the directory in which scripts begin.
	top() string
	// lists tells whether a program is on the allowlist.
	lists(name string) bool
	// listsWord tells whether a program is on the allowlist with a word, as in "go test".
	listsWord(name, word string) bool
	// walled tells whether the kernel holds programs to what they are approved for.
	walled() bool

	// word judges a word of a command that could be a path, pathFrom a path, both relative to a directory.
	word(dir, word string, a access) finding
	pathFrom(dir, name string, a access) finding
	// enter is the directory that cd leads to, and whether there is something now.
	enter(dir, to string) (string, bool)
	// names lists a directory.
	names(dir string) ([]fs.DirEntry, error)
	// above tells whether a directory holds one in which a script may read.
	above(dir string) bool
	// called is a path as permits name it: relative to the workspace, if it lies there.
	called(path string) string

	// forbiddenIn and scriptAt look for what is blocked in a command and in a script.
	forbiddenIn(c command, e effort, dirs []string) finding
	scriptAt(text string, e effort, s *state) finding
}

var _ ground = (*Policy)(nil)

func (p *Policy) top() string { return p.root }

func (p *Policy) lists(name string) bool { return slices.Contains(p.commands, name) }

func (p *Policy) listsWord(name, word string) bool {
	return slices.Contains(p.subcommands, name+" "+word)
}

func (p *Policy) called(path string) string { return below(path, p.workspace, p.root) }

func (p *Policy) above(dir string) bool {
	readable := append([]string{p.root, p.workspace}, p.readRoots...)
	return slices.ContainsFunc(readable, func(in string) bool { return dir != in && place.Within(dir, in) })
}

// walled tells whether programs run where the kernel holds them to what they are approved for: then a low risk script
// sees the workspace read-only, and git starts no program that the repository names.
func (p *Policy) walled() bool {
	return slices.Contains([]string{"auto", "native", "bubblewrap", "landlock"}, p.sandbox)
}

// enter is the directory that cd leads to, as the shell counts it, and whether there is something now.
func (p *Policy) enter(dir, to string) (string, bool) {
	path := to
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	_, err := p.fs.EvalSymlinks(path)
	return path, err == nil
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
