// Package process finds, starts and ends other programs: the stages of clawsh as coprocesses over kernel pipes, and
// tools as trees that can be killed whole. Children get an environment made for them, never the parent's.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Find returns the absolute path of one of our programs: beside our own executable, otherwise in an absolute
// directory of PATH. It never looks in the current directory.
func Find(name string) (string, error) {
	if name == "" || strings.ContainsRune(name, filepath.Separator) {
		return "", fmt.Errorf("find program %q: want a plain name", name)
	}
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path := filepath.Join(filepath.Dir(self), name); executable(path) {
			return path, nil
		}
	}
	if path, ok := OnPath(name); ok {
		return path, nil
	}
	return "", fmt.Errorf("%s is neither beside clawsh nor on PATH", name)
}

// OnPath looks for a program only in the absolute directories of PATH.
func OnPath(name string) (path string, ok bool) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path, true
		}
	}
	return "", false
}

// Self returns a path to our own program, to run it again: to the same file where the system allows that, even if it
// has been replaced.
func Self() string {
	const link = "/proc/self/exe"
	if _, err := os.Readlink(link); err == nil {
		return link
	}
	if self, err := os.Executable(); err == nil {
		return self
	}
	return os.Args[0]
}

// Socketpair returns the two ends of a connection between us and a helper (StartHelper). Programs that we start
// inherit neither.
func Socketpair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a connection: %w", err)
	}
	for _, fd := range pair {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(pair[0]), "connection"), os.NewFile(uintptr(pair[1]), "connection"), nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// passed are the variables that children get if they are set: what programs need, and nothing that could contain a
// secret.
var passed = []string{"PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "USER", "LOGNAME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG"}

// Environment selects from environ what a child may see: the allowlist, LC_* and CLAWSH_* variables, and the named
// extras. A variable whose name looks like a secret's (key, token, secret, password, credential) passes only as an
// extra. The result is never nil.
func Environment(environ []string, extras ...string) []string {
	out := []string{}
	for _, e := range environ {
		name, _, ok := strings.Cut(e, "=")
		switch {
		case !ok:
		case slices.Contains(extras, name), slices.Contains(passed, name):
			out = append(out, e)
		case looksSecret(name):
		case strings.HasPrefix(name, "LC_"), strings.HasPrefix(name, "CLAWSH_"):
			out = append(out, e)
		}
	}
	return out
}

func looksSecret(name string) bool {
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"} {
		if strings.Contains(strings.ToUpper(name), word) {
			return true
		}
	}
	return false
}
