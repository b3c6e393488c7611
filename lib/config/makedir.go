package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Missing is a missing directory, and how much of the path to it existed when it was examined.
type Missing struct {
	path  string
	base  string // the part that was there, without links
	was   fs.FileInfo
	names []string // what was missing below it
}

// LookMissing examines how much of the path to a directory exists.
func LookMissing(path string) (m Missing, err error) {
	m.path, m.base = path, filepath.Clean(path)
	for {
		m.was, err = os.Stat(m.base)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || m.base == filepath.Dir(m.base) {
			break
		}
		if _, err := os.Lstat(m.base); err == nil {
			return m, fmt.Errorf("%s is a link to a file that does not exist", m.base)
		}
		m.names = append([]string{filepath.Base(m.base)}, m.names...)
		m.base = filepath.Dir(m.base)
	}
	if err == nil {
		m.base, err = filepath.EvalSymlinks(m.base)
	}
	return m, err
}

// Make makes the directories that are missing, in the very directory that was looked at, and follows no link that has
// appeared there since: whoever may write there could have a directory made elsewhere.
func (m Missing) Make() error {
	dir, err := openStep(nil, m.base, true)
	if err != nil {
		return fmt.Errorf("make %s: %w", m.path, err)
	}
	defer func() { dir.Close() }()
	if info, err := dir.Stat(); err != nil || !os.SameFile(info, m.was) {
		return fmt.Errorf("make %s: %w", m.path, errors.Join(err, errExchanged))
	}
	for _, name := range m.names {
		if err := unix.Mkdirat(int(dir.Fd()), name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("make %s: %w", m.path, err)
		}
		next, err := openStep(dir, name, true)
		if err != nil {
			return fmt.Errorf("make %s: %w", m.path, err)
		}
		dir.Close()
		dir = next
		if info, err := dir.Stat(); err != nil || owner(info) != os.Geteuid() {
			return fmt.Errorf("make %s: %w", m.path, errors.Join(err, errExchanged))
		}
	}
	return nil
}
