package policy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"clawsh/lib/place"
)

// access is what is done with a path.
type access int

const (
	reading access = iota
	writing
	// touching is what a program may do that nobody understands: it is judged as writing, but for places that its
	// sandbox shows read-only.
	touching
)

func toWrite(write bool) access {
	if write {
		return writing
	}
	return reading
}

// path judges a path that a tool is given, relative to the workspace.
func (p *Policy) path(name string, a access) finding {
	if f, bad := odd(name); bad {
		return f
	}
	return p.pathFrom(p.workspace, name, a)
}

// word judges a word of a command that could be a path, relative to a directory. Unlike a tool's path it may be any
// text.
func (p *Policy) word(dir, word string, a access) finding {
	switch {
	case strings.HasPrefix(word, "~"):
		return outside(word)
	case word == "" || len(word) > place.MaxBytes || !utf8.ValidString(word):
		return finding{}
	}
	return p.pathFrom(dir, word, a)
}

// pathFrom judges a path twice: as it is written, and where it leads once symbolic links are followed. Both must be
// inside the workspace, and neither in a forbidden place.
func (p *Policy) pathFrom(dir, name string, a access) finding {
	abs := name
	if !filepath.IsAbs(name) {
		abs = dir + "/" + name // not cleaned: x/.. is not here if x is a link
	}
	written := p.place(name, filepath.Clean(abs), a, p.workspace, p.root)
	if written.blocked {
		return written
	}
	real, err := place.Resolve(p.fs, abs)
	if err != nil {
		return blocked("path.invalid", "%+q cannot be examined: %v", bounded(name), reason(err))
	}
	return stricter(written, p.place(name, real, a, p.root))
}

// reason leaves the path of this machine out of a message.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func outside(name string) finding {
	return blocked("path.outside", "%+q is outside the workspace", bounded(name))
}

// odd refuses names that cannot be shown or mean something else to a shell.
func odd(name string) (finding, bool) {
	switch {
	case name == "":
		return blocked("path.invalid", "the path is empty"), true
	case len(name) > place.MaxBytes || !utf8.ValidString(name):
		return blocked("path.invalid", "the path is too long or not UTF-8"), true
	case strings.HasPrefix(name, "~"):
		return outside(name), true
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return blocked("path.invalid", "the path %+q contains an invisible character", bounded(name)), true
		}
	}
	return finding{}, false
}

// place judges an absolute path, given the names of the workspace in the same terms.
func (p *Policy) place(name, abs string, a access, workspaces ...string) finding {
	for _, f := range p.forbidden {
		if place.WithinFold(f, abs) {
			return blocked("path.forbidden", "%+q is in a forbidden place (%s)", bounded(name), f)
		}
	}
	within := false
	for _, w := range workspaces {
		within = within || place.Within(w, abs)
	}
	if root := p.readRoot(abs); root != "" && !within {
		return p.inReadRoot(name, abs, root, a)
	}
	switch {
	case !within && p.workspaceOnly:
		return outside(name)
	case a != reading && (protected(abs, workspaces) || p.inRepository(abs)):
		return blocked("path.protected", "%+q is protected, because git runs programs named in it", bounded(name))
	}
	if f, ok := p.obeyed(name, abs, a, workspaces); ok {
		return f
	}
	switch {
	case !within:
		return medium("path.open", "%+q is outside the workspace, which workspace_only = false permits", bounded(name))
	case a != reading:
		return medium("path.workspace", "writes inside the workspace")
	}
	return low("path.workspace", "reads inside the workspace")
}

// readRoot is the read root that an absolute path lies in, "" if it is in none.
func (p *Policy) readRoot(abs string) string {
	for _, r := range p.readRoots {
		if place.Within(r, abs) {
			return r
		}
	}
	return ""
}

func (p *Policy) inReadRoot(name, abs, root string, a access) finding {
	for _, s := range p.secrets {
		if place.WithinFold(s, abs) {
			return blocked("path.forbidden", "%+q is in a forbidden place (%s)", bounded(name), s)
		}
	}
	if a == writing || a == touching && p.sandbox == "off" {
		return blocked("path.read_root", "%+q is in %s, where tools may only read (security.read_roots)", bounded(name),
			root)
	}
	return low("path.read_root", "reads in %s (security.read_roots)", root)
}

// gitRuns are the names in a repository that decide what git runs, and the repository itself.
func gitRuns(name string) bool {
	switch name {
	case "", "config", "config.worktree", "hooks", "modules", "worktrees", "info", "commondir":
		return true
	}
	return false
}

// protected are places from which git starts programs. The way to the workspace itself does not count.
func protected(abs string, workspaces []string) bool {
	for _, w := range workspaces {
		if place.Within(w, abs) {
			abs = strings.TrimPrefix(abs, w)
			break
		}
	}
	parts := strings.Split(strings.ToLower(abs), "/")
	for i, part := range parts {
		if part != ".git" {
			continue
		}
		rest := append(parts[i+1:], "")
		if gitRuns(rest[0]) {
			return true
		}
	}
	return false
}
