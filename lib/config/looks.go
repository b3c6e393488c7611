package config

import (
	"io/fs"
	"os"
	"path/filepath"
)

// looks remembers what paths are while one configuration is loaded: the same few directories stand above all that it
// names. A nil one looks each time.
type looks map[string]looked

type looked struct {
	info fs.FileInfo
	err  error
}

func (l looks) lstat(path string) (fs.FileInfo, error) {
	if at, ok := l[path]; ok {
		return at.info, at.err
	}
	info, err := os.Lstat(path)
	if l != nil {
		l[path] = looked{info, err}
	}
	return info, err
}

func (l looks) stat(path string) (fs.FileInfo, error) {
	info, err := l.lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return os.Stat(path)
	}
	return info, err
}

// upwards yields a path and every directory above it.
func upwards(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for dir := filepath.Clean(path); yield(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		}
	}
}

// holds tells whether a directory is a path or one above it, by its name and by where that leads.
func (l looks) holds(dir fs.FileInfo, path string) bool {
	for at := range upwards(path) {
		if info, err := l.stat(at); err == nil && os.SameFile(info, dir) {
			return true
		}
		if info, err := l.lstat(at); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(at); err == nil && real != at && l.holds(dir, real) {
			return true
		}
	}
	return false
}
