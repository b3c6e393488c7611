package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Mend takes from others what they must not have, as far as that is the fault. Whoever may write to the home may have put
// something else in its place by now: no link is followed, nothing outside the home is touched, and no permission is added.
func (f Fault) Mend() error {
	if !f.Mendable() {
		return fmt.Errorf("%s %s", f, "is not for clawsh to change")
	}
	root, err := os.OpenRoot(f.home)
	if err != nil {
		return err
	}
	defer root.Close()
	steps := strings.Split(f.below, string(filepath.Separator))
	for i := range steps {
		name := filepath.Join(steps[:i+1]...)
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		if i < len(steps)-1 {
			if !info.IsDir() {
				return fmt.Errorf("%s is not a directory", filepath.Join(f.home, name))
			}
			continue
		}
		return f.mend(root, name, info)
	}
	return nil
}

// mend changes what info describes, or nothing.
func (f Fault) mend(root *os.Root, name string, info fs.FileInfo) error {
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a directory", f.Path)
	}
	// not Chmod by name: that follows a link, and an open file stays what it is
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	opened, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !os.SameFile(info, opened):
		return fmt.Errorf("%s is being changed", f.Path)
	case linkedElsewhere(opened):
		return fmt.Errorf("%s has another name, too, so it may be another file", f.Path)
	}
	return file.Chmod(opened.Mode().Perm() &^ f.forbidden)
}

// Mendable tells whether Mend can do something about the fault.
func (f Fault) Mendable() bool { return f.forbidden != 0 && f.below != "" }

// within says where below the home the fault is, if it is there.
func (f *Fault) within(home string) {
	for _, dir := range []string{home, resolved(home)} {
		if below, err := filepath.Rel(dir, f.Path); err == nil && filepath.IsLocal(below) {
			f.home, f.below = resolved(home), below
			return
		}
	}
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// linkedElsewhere tells whether a file has several names.
func linkedElsewhere(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && s.Nlink > 1
}
