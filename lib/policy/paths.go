package policy

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// access is what is done with a path.
type access bool

const (
	reading access = false
	writing access = true
)

// path judges a path that a tool is given. It is judged twice: as it is written, and where it leads once symbolic links are
// followed; both must be inside the workspace, and neither in a forbidden place.
func (p *Policy) path(name string, a access) finding { return p.pathFrom(p.workspace, name, a) }

// pathFrom is path for a name that is relative to the directory dir.
func (p *Policy) pathFrom(dir, name string, a access) finding {
	if f, bad := odd(name); bad {
		return f
	}
	abs := name
	if !filepath.IsAbs(name) {
		abs = filepath.Join(dir, name)
	}
	abs = filepath.Clean(abs)
	if f := p.place(name, abs, p.workspace, a); f.blocked && p.place(name, abs, p.root, a).blocked {
		return f
	}
	real, err := p.resolve(abs)
	if err != nil {
		return blocked("path.invalid", "%+q cannot be examined: %v", bounded(name), err)
	}
	return p.place(name, real, p.root, a)
}

// odd refuses names that cannot be shown or mean something else to a shell.
func odd(name string) (finding, bool) {
	switch {
	case name == "":
		return blocked("path.invalid", "the path is empty"), true
	case len(name) > 4096 || !utf8.ValidString(name):
		return blocked("path.invalid", "the path is too long or not UTF-8"), true
	case strings.HasPrefix(name, "~"):
		return blocked("path.outside", "%+q is outside the workspace", bounded(name)), true
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return blocked("path.invalid", "the path %+q holds a character that cannot be seen", bounded(name)), true
		}
	}
	return finding{}, false
}

// place judges an absolute path, given the workspace in the same terms, links followed or not.
func (p *Policy) place(name, abs, workspace string, a access) finding {
	for _, f := range p.forbidden {
		if inside(abs, f) {
			return blocked("path.forbidden", "%+q is in a forbidden place (%s)", bounded(name), f)
		}
	}
	rel, err := filepath.Rel(workspace, abs)
	within := err == nil && filepath.IsLocal(rel)
	switch {
	case !within && p.workspaceOnly:
		return blocked("path.outside", "%+q is outside the workspace", bounded(name))
	case !within:
		return medium("path.open", "%+q is outside the workspace, which workspace_only = false permits", bounded(name))
	case a == writing && protected(rel):
		return blocked("path.protected", "%+q is protected: git runs what it says", bounded(name))
	case a == writing:
		return medium("path.workspace", "writes inside the workspace")
	}
	return low("path.workspace", "reads inside the workspace")
}

// protected are places inside a workspace from which git starts programs.
func protected(rel string) bool {
	parts := strings.Split(strings.ToLower(filepath.ToSlash(rel)), "/")
	for i, part := range parts {
		if part != ".git" {
			continue
		}
		rest := strings.Join(parts[i+1:], "/")
		if rest == "" || rest == "config" || rest == "config.worktree" || rest == "hooks" || strings.HasPrefix(rest, "hooks/") ||
			strings.HasPrefix(rest, "modules/") || strings.HasPrefix(rest, "worktrees/") || strings.HasPrefix(rest, "info/") {
			return true
		}
	}
	return false
}

// inside tells whether path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// resolve follows the symbolic links of the longest part of the path that exists. What does not exist yet cannot lead
// anywhere; a link that leads nowhere can, once its target is made, so it is followed too.
func (p *Policy) resolve(abs string) (string, error) {
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		real, err := p.fs.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			return "", err
		}
		if dangling(p.fs, dir) {
			return "", os.ErrInvalid
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// dangling tells whether a path that does not resolve is there all the same: a link that leads nowhere.
func dangling(fs Resolver, path string) bool {
	if _, ok := fs.(OS); !ok {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}
