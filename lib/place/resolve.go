package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// MaxBytes is the maximum length of a path; no supported kernel accepts more (PATH_MAX).
	MaxBytes = 4096
	// maxNames is how deep directories may be nested: each is examined, from the top.
	maxNames = 256
)

// Links follows symbolic links.
type Links interface {
	EvalSymlinks(path string) (string, error)
}

// OS follows the links in this machine's file system.
type OS struct{}

// EvalSymlinks implements Links.
func (OS) EvalSymlinks(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Lstat is os.Lstat.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Real follows links as far as the path exists; the rest of it, and a path that cannot be followed, stay as written.
// A decision based on it must be checked again when the path is opened.
func Real(path string) string {
	rest := ""
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// Resolve follows an absolute path as the kernel does: x/.. is the parent of the directory that x leads to. It is an
// error if a path cannot be followed with certainty, or if a link leads nowhere.
func Resolve(links Links, abs string) (string, error) {
	if !filepath.IsAbs(abs) {
		return "", syscall.EINVAL
	}
	if len(abs) > 2*MaxBytes || strings.Count(abs, "/") > maxNames {
		return "", syscall.ENAMETOOLONG
	}
	at, names := "/", []string(nil)
	for name := range strings.SplitSeq(abs, "/") {
		if name != ".." {
			names = append(names, name)
			continue
		}
		real, err := links.EvalSymlinks(filepath.Join(at, filepath.Join(names...)))
		if err != nil {
			return "", err
		}
		at, names = filepath.Dir(real), names[:0]
	}
	return deepest(links, filepath.Join(at, filepath.Join(names...)))
}

// deepest follows the symbolic links of the longest existing part of a path. What does not exist cannot lead
// anywhere; a dangling link can, once its target is created, so it is an error.
func deepest(links Links, abs string) (string, error) {
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		real, err := links.EvalSymlinks(dir)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !Absent(err) || dir == filepath.Dir(dir):
			return "", err
		case dangling(links, dir):
			return "", errors.New("it is a link that leads nowhere")
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// Absent reports whether an error means that no file of this name can exist now.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// dangling reports whether a path that does not resolve exists anyway: a link that leads nowhere.
func dangling(links Links, path string) bool {
	files, ok := links.(interface {
		Lstat(path string) (fs.FileInfo, error)
	})
	if !ok {
		return false
	}
	_, err := files.Lstat(path)
	return err == nil
}
