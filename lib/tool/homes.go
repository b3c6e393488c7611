package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/durable"
)

// Homes is a directory for the private homes of a process's commands. Whoever uses it shares a lock on it, which the
// kernel takes back however a process ends: what nobody has locked, nobody uses.
type Homes struct {
	Dir  string
	lock *os.File
}

// homesPrefix begins the names of such directories; rand.Text's 26 letters follow.
const homesPrefix = "clawsh-home-"

// MakeHomes makes one among the temporary files.
func MakeHomes() (*Homes, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("find the directory for temporary files: %w", err)
	}
	for range 3 {
		dir := filepath.Join(temp, homesPrefix+rand.Text())
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make a directory for private homes: %w", err)
		}
		h, err := ShareHomes(dir)
		if err == nil {
			return h, nil
		}
		if !errors.Is(err, os.ErrNotExist) { // else it was swept before it was locked
			return nil, err
		}
	}
	return nil, errors.New("make a directory for private homes: it keeps being removed")
}

// ShareHomes takes part in the use of a directory that another process of ours has made.
func ShareHomes(dir string) (*Homes, error) {
	lock, err := openHomes(dir)
	if err != nil {
		return nil, fmt.Errorf("use the directory for private homes: %w", err)
	}
	err = durable.Flock(lock, unix.LOCK_SH)
	if err == nil && !stillNamed(lock, dir) {
		err = os.ErrNotExist
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("use the directory for private homes: %w", err)
	}
	return &Homes{Dir: dir, lock: lock}, nil
}

// Close ends the use.
func (h *Homes) Close() { h.lock.Close() }

// Remove removes the directory with all that is in it.
func (h *Homes) Remove() {
	removeHomes(h.Dir)
	h.Close()
}

func removeHomes(dir string) {
	if root, err := os.OpenRoot(dir); err == nil {
		durable.Remove(root, ".")
		root.Close()
	}
	os.Remove(dir)
}

// SweepHomes removes from a directory of temporary files the homes that killed processes have left, and returns their
// names: only what this user has made, nobody else can have written to, and nobody uses.
func SweepHomes(temp string) []string {
	d, err := os.Open(temp)
	if err != nil {
		return nil
	}
	defer d.Close()
	var swept []string
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			if rest, ok := strings.CutPrefix(name, homesPrefix); ok && isRandom(rest) &&
				sweepHome(filepath.Join(temp, name)) {
				swept = append(swept, name)
			}
		}
		if err != nil {
			return swept
		}
	}
}

// isRandom tells whether a text is one of rand.Text: 26 letters and digits of base 32.
func isRandom(s string) bool {
	return len(s) == 26 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

func sweepHome(dir string) bool {
	f, err := openHomes(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() != 0o700 {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	if durable.Flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil || !stillNamed(f, dir) {
		return false
	}
	removeHomes(dir)
	_, err = os.Lstat(dir)
	return errors.Is(err, os.ErrNotExist)
}

func openHomes(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

func stillNamed(f *os.File, path string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, named)
}
