package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/interp"

	"clawsh/lib/place"
)

// locate finds the directory that a path of a command lies in, the workspace or the private home, and its name in
// there.
func (s *shell) locate(dir, path string) (*workspace, string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if place.Within(s.script.Home, path) {
		home, err := s.openHome()
		if err != nil {
			return nil, "", err
		}
		rel, err := home.rel(path)
		return home, rel, err
	}
	rel, err := s.ws.rel(path)
	if root := s.env.Config.ReadRootOf(path); err != nil && root != "" {
		return s.inReadRoot(root, path)
	}
	return s.ws, rel, err
}

// openHome opens the private home, which stays open as long as the command runs.
func (s *shell) openHome() (*workspace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.home == nil {
		root, err := os.OpenRoot(s.script.Home)
		if err != nil {
			return nil, fmt.Errorf("open the private home: %w", err)
		}
		s.home = &workspace{dir: s.script.Home, real: s.script.Home, root: root}
	}
	return s.home, nil
}

// inReadRoot finds a path in a read root, which stays open as long as the command runs.
func (s *shell) inReadRoot(root, path string) (*workspace, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.roots[root]
	if w == nil {
		var err error
		if w, err = openReadRoot(s.env, root); err != nil {
			return nil, "", err
		}
		if s.roots == nil {
			s.roots = map[string]*workspace{}
		}
		s.roots[root] = w
	}
	rel, err := w.inside(path)
	return w, rel, err
}

// above tells whether a path is a directory on the way to one that tools may look into.
func (s *shell) above(path string) bool {
	return slices.ContainsFunc(append([]string{s.ws.real, s.ws.dir, s.script.Home}, s.env.Config.Readable()...),
		func(dir string) bool { return place.Within(path, dir) })
}

// open is asked for every redirection. What fails in the usual way is an error of that one command; what is refused
// ends all.
func (s *shell) open(ctx context.Context, path string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	h := interp.HandlerCtx(ctx)
	switch path {
	case os.DevNull:
		return os.OpenFile(path, flag&^(os.O_CREATE|os.O_TRUNC), 0)
	case "/dev/stdout":
		return stream{w: h.Stdout}, nil
	case "/dev/stderr":
		return stream{w: h.Stderr}, nil
	}
	w, rel, err := s.locate(h.Dir, path)
	if err != nil {
		return nil, s.fail("open", path, err)
	}
	var f *os.File
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		f, err = w.openWrite(ctx, rel, flag, perm)
	} else {
		f, _, err = w.openRead(ctx, rel)
	}
	if err != nil {
		return nil, s.fail("open", path, err)
	}
	return f, nil
}

// stream is one of the command's own outputs, named as a file.
type stream struct{ w io.Writer }

func (s stream) Read([]byte) (int, error)    { return 0, syscall.EBADF }
func (s stream) Write(p []byte) (int, error) { return s.w.Write(p) }
func (s stream) Close() error                { return nil }

func (s *shell) fail(op, path string, err error) error {
	var refused refusedError
	if errors.As(err, &refused) {
		return s.deny(fmt.Sprintf("%s %q", op, path), err)
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func (s *shell) stat(ctx context.Context, path string, follow bool) (fs.FileInfo, error) {
	if path == os.DevNull {
		return os.Stat(path)
	}
	w, rel, err := s.locate(interp.HandlerCtx(ctx).Dir, path)
	if err == nil && follow {
		err = w.check(ctx, GuardStat, rel)
	}
	if err != nil {
		return nil, s.fail("stat", path, err)
	}
	if !follow {
		return w.root.Lstat(rel)
	}
	return w.root.Stat(rel)
}

func (s *shell) access(ctx context.Context, path string, mode interp.AccessMode) error {
	if _, err := s.stat(ctx, path, true); err != nil {
		return err
	}
	return unix.Access(path, uint32(mode))
}

// readDir is asked for every glob. A glob with an absolute path asks for each directory above it first: those exist,
// and what is in them is not told.
func (s *shell) readDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	w, rel, err := s.locate(interp.HandlerCtx(ctx).Dir, path)
	if err != nil && s.above(path) {
		return nil, nil
	}
	var d *os.File
	if err == nil {
		d, err = w.openDir(ctx, rel)
	}
	if err != nil {
		return nil, s.fail("list", path, err)
	}
	defer d.Close()
	entries, err := d.ReadDir(maxScanned)
	if err == io.EOF {
		err = nil
	}
	return entries, err
}
