package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// hold covers what is missing in the workspace and other programs would obey (coverable): an empty directory is
// made in its place, which the view shows read-only, and which goes again with the sandbox. An empty directory
// means nothing to any program of the table, nor to git add. Its mode marks it, so that what a killed process has
// left goes with the next sandbox.
//
// A directory that is removed takes the mounts on it away in every sandbox. So each sandbox holds a shared lock on the
// workspace, and only who gets it alone removes.
type hold struct {
	paths []string
	lock  *os.File
}

// placeholderMode is what no directory has by accident.
const (
	placeholderBits = syscall.S_ISVTX | 0o711
	placeholderMode = fs.ModeDir | fs.ModeSticky | 0o711
)

// holdTime is how long a sandbox waits for others that end.
const holdTime = 2 * time.Second

// placeholder tells whether a name is a cover. One that has something in it, a program has made.
func placeholder(path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode() != placeholderMode {
		return false
	}
	d, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // another user's: no program of ours can write there
	}
	defer d.Close()
	_, err = d.ReadDir(1)
	return errors.Is(err, io.EOF)
}

// holdView is the view of a place with what is missing covered, until the hold is released.
func holdView(p Place, l Limits) (*hold, []mount, error) {
	h := &hold{}
	if !p.ReadOnly {
		if err := h.share(p.Workspace); err != nil {
			return nil, nil, err
		}
	}
	v, err := view(p, l)
	if err == nil {
		h.paths = coverable(p, v)
		v, err = h.cover(p, v)
	}
	if err != nil {
		h.release()
		return nil, nil, err
	}
	return h, sorted(v), nil
}

// cover makes what is missing, and adds the mounts for it to the view.
func (h *hold) cover(p Place, v []mount) ([]mount, error) {
	guarded := map[string]bool{}
	for _, m := range v {
		guarded[m.Target] = true
	}
	for _, path := range h.paths {
		if guarded[path] || p.opens(path) {
			continue
		}
		err := syscall.Mkdir(path, placeholderBits)
		switch {
		case errors.Is(err, fs.ErrExist): // another sandbox's, or just made: as good as one that was there
		case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
			continue // then no program can make it either
		case err != nil:
			return nil, fmt.Errorf("cover %s: %w", path, err)
		default:
			if !placeholder(path) { // the umask
				syscall.Chmod(path, placeholderBits)
			}
		}
		if g, ok := readOnly(path); ok {
			v = append(v, g)
		}
	}
	return v, nil
}

// share takes the shared lock. Programs of another call may hold it against us: that is waited for, not for ever.
func (h *hold) share(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	for end := time.Now().Add(holdTime); ; time.Sleep(time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			break
		}
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return fmt.Errorf("lock the workspace %s: another program holds it", dir)
	case err != nil:
		f.Close() // a file system without locks: what is made stays, so that nobody loses a cover
		return nil
	}
	h.lock = f
	return nil
}

// release takes the covers away if no other sandbox needs them.
func (h *hold) release() {
	if h.lock == nil {
		return
	}
	defer h.lock.Close()
	if syscall.Flock(int(h.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	for _, path := range h.paths {
		if placeholder(path) {
			syscall.Rmdir(path)
		}
	}
}
