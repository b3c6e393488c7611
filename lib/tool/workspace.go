package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/place"
)

var (
	errOutside   = errors.New("is outside the workspace")
	errForbidden = errors.New("is under a forbidden path")
	errStaged    = errors.New("is neither in data/ nor in output/; the rest of a staged workspace is read-only")
	errReadRoot  = errors.New("is outside the workspace, where tools can only read (security.read_roots)")
	errGit       = errors.New("is inside .git, which tools may not write to")
)

// ErrReadOnly is what a Guard says of writing in a call that was permitted at low risk.
var ErrReadOnly = errors.New("it would write, but was permitted only to read")

// ErrMayStart is what a Guard says of a program that need not be kept from starting others.
var ErrMayStart = errors.New("it may start other programs")

// refusedError is an access that policy refuses, other than one that fails.
type refusedError struct{ err error }

func (e refusedError) Error() string { return e.err.Error() }
func (e refusedError) Unwrap() error { return e.err }

// workspace is a directory that tools may reach into and not out of.
type workspace struct {
	dir       string // as it was named, absolute
	real      string // with symbolic links resolved
	root      *os.Root
	forbidden []string
	guard     Guard
	staged    bool   // only data/ and output/ are written
	readOnly  bool   // a read root
	base      string // set if everything may be reached: the directory that relative paths start from
}

func openWorkspace(env *Env) (*workspace, error) {
	dir := env.workspaceDir()
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open the workspace %q: want an absolute path", dir)
	}
	w, err := openDir(dir, env)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open the workspace %q: there is no such directory", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open the workspace %q: %w", dir, why(err))
	}
	if info, err := w.root.Stat("."); err != nil || !env.Config.SameWorkspace(info) {
		w.close()
		return nil, fmt.Errorf("open the workspace %q: another directory has replaced it", dir)
	}
	return w, nil
}

// openFiles is openWorkspace for the file tools, which may reach other places where workspace_only = false says so.
func openFiles(env *Env) (*workspace, error) {
	w, err := openWorkspace(env)
	if err != nil || env.Config.Security.WorkspaceOnly {
		return w, err
	}
	defer w.close()
	all, err := openDir("/", env)
	if err != nil {
		return nil, err
	}
	all.base, all.staged = w.real, false // with everything open, the sandbox's layout says nothing
	return all, nil
}

// openFor is openFiles for a path that is to be read: it opens the directory that the path lies in, the workspace or a
// read root, and tells the path's name in there.
func openFor(env *Env, path string) (*workspace, string, error) {
	w, err := openFiles(env)
	if err != nil {
		return nil, "", err
	}
	rel, err := w.rel(path)
	root := env.Config.ReadRootOf(path)
	if err == nil || root == "" {
		if err != nil {
			w.close()
		}
		return w, rel, err
	}
	w.close()
	if w, err = openReadRoot(env, root); err != nil {
		return nil, "", err
	}
	if rel, err = w.inside(path); err != nil {
		w.close()
	}
	return w, rel, err
}

// inside is rel for a path in a read root, with links followed that stay in there: an absolute one is nothing that
// os.Root follows.
func (w *workspace) inside(path string) (string, error) {
	if real := place.Real(path); place.Within(w.real, real) {
		path = real
	}
	return w.rel(path)
}

// openReadRoot opens a directory of security.read_roots. It is none any more if a link has taken its place.
func openReadRoot(env *Env, root string) (*workspace, error) {
	w, err := openDir(root, env)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", root, why(err))
	}
	if w.real != root {
		w.close()
		return nil, refusedError{errOutside}
	}
	w.readOnly, w.staged = true, false
	w.forbidden = slices.Concat(w.forbidden, env.Config.Secrets, []string{env.Config.Home})
	return w, nil
}

func openDir(dir string, env *Env) (*workspace, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &workspace{dir: filepath.Clean(dir), real: real, root: root, forbidden: env.Config.Security.ForbiddenPaths,
		guard:  env.Guard,
		staged: env.Config.Sandbox.Layout == "staged"}, nil
}

func (w *workspace) close() { w.root.Close() }

// rel turns a path into one relative to the workspace. Absolute paths are taken if they lead inside.
func (w *workspace) rel(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path holds a NUL")
	case path == "~" || strings.HasPrefix(path, "~/"):
		return "", refusedError{fmt.Errorf("%w (paths are relative to it, ~ is not expanded)", errOutside)}
	}
	if w.base != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.base, path)
		}
		path = filepath.Clean(path)
		rel, ok := place.Below(w.real, filepath.Join(place.Real(filepath.Dir(path)), filepath.Base(path)))
		if !ok {
			return "", refusedError{errOutside}
		}
		return rel, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Clean(path)
		if !filepath.IsLocal(path) {
			return "", refusedError{errOutside}
		}
		return path, nil
	}
	for _, base := range []string{w.dir, w.real} {
		if name, ok := place.Below(base, path); ok {
			return name, nil
		}
	}
	return "", refusedError{errOutside}
}

// name is a path as a model can name it again.
func (w *workspace) name(rel string) string {
	if w.base == "" {
		return filepath.ToSlash(rel)
	}
	abs := filepath.Join(w.real, rel)
	if below, ok := place.Below(w.base, abs); ok {
		return filepath.ToSlash(below)
	}
	return abs
}

// check refuses what policy refuses about a path of the workspace. What the kernel refuses is found out by os.Root.
func (w *workspace) check(ctx context.Context, kind, rel string) error {
	abs := filepath.Join(w.real, rel)
	real := place.Real(abs)
	if !place.Within(w.real, real) {
		return refusedError{errOutside}
	}
	for _, f := range w.forbidden {
		if place.Within(f, abs) || place.Within(f, real) {
			return refusedError{errForbidden}
		}
	}
	if kind == GuardOpenWrite && w.readOnly {
		return refusedError{errReadRoot}
	}
	if kind == GuardOpenWrite && (inGit(rel) || inGit(strings.TrimPrefix(real, w.real))) {
		return refusedError{errGit}
	}
	if kind == GuardOpenWrite && w.staged &&
		!config.StagedWritable(strings.TrimPrefix(strings.TrimPrefix(real, w.real), "/")) {
		return refusedError{errStaged}
	}
	if w.guard != nil {
		err := w.guard(ctx, kind, w.real, []string{abs})
		if err != nil && !undecided(ctx, err) {
			err = refusedError{err}
		}
		return err
	}
	return nil
}

// inGit tells whether a path names .git or something in it. A file named .git points git to a directory of its own.
func inGit(path string) bool {
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}
