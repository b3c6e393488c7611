package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// access is what is done with a path.
type access int

const (
	reading access = iota
	writing
	// touching is what a program may do that nobody understands: it is judged as writing, but for places that its sandbox shows
	// read-only.
	touching
)

func toWrite(write bool) access {
	if write {
		return writing
	}
	return reading
}

// maxPathBytes is what a path may have; no kernel here takes more (PATH_MAX).
const maxPathBytes = 4096

// maxPathParts is how many directories may be in each other: each is looked at, from the top.
const maxPathParts = 256

// path judges a path that a tool is given, relative to the workspace.
func (p *Policy) path(name string, a access) finding {
	if f, bad := odd(name); bad {
		return f
	}
	return p.pathFrom(p.workspace, name, a)
}

// word judges a word of a command that could be a path, relative to a directory. Unlike a tool's path it may be any text.
func (p *Policy) word(dir, word string, a access) finding {
	switch {
	case strings.HasPrefix(word, "~"):
		return outside(word)
	case word == "" || len(word) > maxPathBytes || !utf8.ValidString(word):
		return finding{}
	}
	return p.pathFrom(dir, word, a)
}

// pathFrom judges a path twice: as it is written, and where it leads once symbolic links are followed. Both must be inside
// the workspace, and neither in a forbidden place.
func (p *Policy) pathFrom(dir, name string, a access) finding {
	abs := name
	if !filepath.IsAbs(name) {
		abs = dir + "/" + name // not cleaned: x/.. is not here if x is a link
	}
	written := p.place(name, filepath.Clean(abs), a, p.workspace, p.root)
	if written.blocked {
		return written
	}
	real, err := p.resolve(abs)
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
	case len(name) > maxPathBytes || !utf8.ValidString(name):
		return blocked("path.invalid", "the path is too long or not UTF-8"), true
	case strings.HasPrefix(name, "~"):
		return outside(name), true
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return blocked("path.invalid", "the path %+q holds a character that cannot be seen", bounded(name)), true
		}
	}
	return finding{}, false
}

// place judges an absolute path, given the names of the workspace in the same terms.
func (p *Policy) place(name, abs string, a access, workspaces ...string) finding {
	for _, f := range p.forbidden {
		if insideFold(abs, f) {
			return blocked("path.forbidden", "%+q is in a forbidden place (%s)", bounded(name), f)
		}
	}
	within := false
	for _, w := range workspaces {
		within = within || inside(abs, w)
	}
	if root := p.readRoot(abs); root != "" && !within {
		return p.inReadRoot(name, abs, root, a)
	}
	switch {
	case !within && p.workspaceOnly:
		return outside(name)
	case a != reading && (protected(abs, workspaces) || p.inRepository(abs)):
		return blocked("path.protected", "%+q is protected: git runs what it says", bounded(name))
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
		if inside(abs, r) {
			return r
		}
	}
	return ""
}

func (p *Policy) inReadRoot(name, abs, root string, a access) finding {
	for _, s := range p.secrets {
		if insideFold(abs, s) {
			return blocked("path.forbidden", "%+q is in a forbidden place (%s)", bounded(name), s)
		}
	}
	if a == writing || a == touching && p.sandbox == "off" {
		return blocked("path.read_root", "%+q is in %s, where tools may only read (security.read_roots)", bounded(name), root)
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
		if inside(abs, w) {
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

// inside tells whether path is dir or below it, by whole components.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// insideFold is inside for places that must not be reached: some file systems take SSH for ssh.
func insideFold(path, dir string) bool {
	return inside(path, dir) || inside(strings.ToLower(path), strings.ToLower(dir))
}

// resolve follows a path as the kernel does: x/.. is the directory above the one that x leads to.
func (p *Policy) resolve(abs string) (string, error) {
	if len(abs) > 2*maxPathBytes || strings.Count(abs, "/") > maxPathParts {
		return "", syscall.ENAMETOOLONG
	}
	at, names := "/", []string(nil)
	for name := range strings.SplitSeq(abs, "/") {
		if name != ".." {
			names = append(names, name)
			continue
		}
		real, err := p.fs.EvalSymlinks(filepath.Join(at, filepath.Join(names...)))
		if err != nil {
			return "", err
		}
		at, names = filepath.Dir(real), names[:0]
	}
	return p.deepest(filepath.Join(at, filepath.Join(names...)))
}

// deepest follows the symbolic links of the longest part of a path that exists. What does not exist yet cannot lead
// anywhere; a link that leads nowhere can, once its target is made, so it is refused.
func (p *Policy) deepest(abs string) (string, error) {
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		real, err := p.fs.EvalSymlinks(dir)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !absent(err) || dir == filepath.Dir(dir):
			return "", err
		case dangling(p.fs, dir):
			return "", errors.New("it is a link that leads nowhere")
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// absent tells whether an error says that there can be no file of this name now.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// dangling tells whether a path that does not resolve is there all the same: a link that leads nowhere.
func dangling(fs Resolver, path string) bool {
	if _, ok := fs.(OS); !ok {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}
