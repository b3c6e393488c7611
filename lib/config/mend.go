package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/place"
)

// target is an entry of the home as it was when it was inspected.
type target struct {
	home, below string // the home without links, and the entry's name in it
	root, entry fs.FileInfo
	euid        int
	forbidden   fs.FileMode
}

// Mend takes from others the permissions that are the fault, and changes nothing else. Time has passed since the
// inspection, and whoever may write above the home may have exchanged any part of the way: it changes only the very
// file that was inspected, through a descriptor, and only if it is the caller's own.
func (f Fault) Mend() error {
	if !f.Mendable() {
		return fmt.Errorf("%s, which clawsh must not change", f)
	}
	file, err := f.target.open()
	if err != nil {
		return fmt.Errorf("repair %s: %w", f.Path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("repair %s: %w", f.Path, err)
	}
	if linkedElsewhere(info) {
		return fmt.Errorf("%s has another hard link, so it may be a file from elsewhere", f.Path)
	}
	return file.Chmod(info.Mode() &^ f.target.forbidden)
}

// Mendable reports whether Mend can repair the fault: what is above the home, or elsewhere, is only reported.
func (f Fault) Mendable() bool { return f.target != nil }

// newTarget returns nil if a path is not in the home or not the caller's.
func (g *guard) newTarget(path string, info fs.FileInfo, forbidden fs.FileMode) *target {
	if g.root == nil || owner(info) != g.euid || !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	real := place.Real(g.home)
	for _, dir := range []string{g.home, real} {
		if below, ok := place.Below(dir, path); ok {
			return &target{home: real, below: below, root: g.root, entry: info, euid: g.euid, forbidden: forbidden}
		}
	}
	return nil
}

var errExchanged = errors.New("it changed during the inspection: somebody else is modifying it")

// open opens the entry, following no link below the home. The way above it needs no such care, since the directory
// that is opened must be the one that was inspected.
func (t *target) open() (*os.File, error) {
	file, err := openStep(nil, t.home, true)
	if err != nil {
		return nil, err
	}
	if err := t.same(file, t.root); err != nil {
		return nil, err
	}
	if t.below == "." {
		return file, nil
	}
	steps := strings.Split(t.below, string(filepath.Separator))
	for i, step := range steps {
		next, err := openStep(file, step, i < len(steps)-1 || t.entry.IsDir())
		file.Close()
		if err != nil {
			return nil, err
		}
		file = next
	}
	return file, t.same(file, t.entry)
}

// same closes a file that is not the one that was inspected, or not the caller's.
func (t *target) same(file *os.File, want fs.FileInfo) error {
	info, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(info, want):
		err = errExchanged
	case owner(info) != t.euid:
		err = fmt.Errorf("it belongs to user %d", owner(info))
	}
	if err != nil {
		file.Close()
	}
	return err
}

// openStep opens a name in a directory, nil for an absolute path; neither a link nor anything that opening does
// something to.
func openStep(dir *os.File, name string, directory bool) (*os.File, error) {
	at, flags := unix.AT_FDCWD, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC
	if dir != nil {
		at = int(dir.Fd())
	}
	if directory {
		flags |= unix.O_DIRECTORY
	} else {
		var s unix.Stat_t
		if err := unix.Fstatat(at, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, err
		}
		if s.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil, errExchanged
		}
	}
	for {
		fd, err := unix.Openat(at, name, flags, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT):
			return nil, errExchanged
		case err != nil:
			return nil, err
		default:
			return os.NewFile(uintptr(fd), name), nil
		}
	}
}

// linkedElsewhere tells whether a file has several names.
func linkedElsewhere(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && s.Nlink > 1
}
