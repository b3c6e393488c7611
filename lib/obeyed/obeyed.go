// Package obeyed has the table of files that the user's other programs obey: files that run, or change what runs,
// when the user merely enters a directory, opens it in an editor, or asks a program for its version or a status.
// Writing such a file is a way out of the sandbox, so the gate, the file tools and the sandbox all use this table.
package obeyed

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Match returns the row that a path matches with one of its components, or with several in a row.
func Match(name string) (Row, bool) { return find(name, false) }

// Brings is like Match for the destination of a move or copy: a directory brings its contents with it, so the
// beginning of a longer name matches, too.
func Brings(name string) (Row, bool) { return find(name, true) }

func find(name string, partly bool) (Row, bool) {
	name = filepath.ToSlash(filepath.Clean(name))
	parts := strings.Split(strings.ToLower(name), "/")
	for _, r := range rows {
		for _, pattern := range r.Names {
			if r.Exact && (path.Base(name) == pattern || runtime.GOOS ==
				"darwin" && strings.EqualFold(path.Base(name), pattern)) ||
				!r.Exact && matches(strings.Split(pattern, "/"), parts, partly) {
				return r, true
			}
		}
	}
	return Row{}, false
}

func matches(pattern, parts []string, partly bool) bool {
	for i := range parts {
		n := 0
		for n < len(pattern) && i+n < len(parts) && component(pattern[n], parts[i+n]) {
			n++
		}
		if n == len(pattern) || partly && n > 0 && i+n == len(parts) {
			return true
		}
	}
	return false
}

func component(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Ends reports whether a name may be the last component of a name in the table. It is faster than Match.
func Ends(last string) bool {
	last = strings.ToLower(last)
	e := endings()
	return e.names[last] || slices.ContainsFunc(e.patterns,
		func(pattern string) bool { return component(pattern, last) })
}

type ends struct {
	names    map[string]bool
	patterns []string
}

// endings are the last components of the names in the table. They are computed on first use.
var endings = sync.OnceValue(func() ends {
	e := ends{names: map[string]bool{}}
	for _, r := range rows {
		for _, name := range r.Names {
			last := strings.ToLower(path.Base(name))
			if strings.ContainsAny(last, `*?[\`) {
				e.patterns = append(e.patterns, last)
				continue
			}
			e.names[last] = true
		}
	}
	return e
})

// Covered are the names that the sandbox keeps a program from making in the root of the workspace.
func Covered() []string {
	var out []string
	for _, r := range rows {
		if !r.Cover {
			continue
		}
		for _, name := range r.Names {
			if !strings.ContainsAny(name, "*/~") {
				out = append(out, name)
			}
		}
	}
	return out
}

// Nested are the names of several components without patterns.
func Nested() []string {
	var out []string
	for _, r := range rows {
		for _, name := range r.Names {
			if strings.Contains(name, "/") && !strings.Contains(name, "*") {
				out = append(out, name)
			}
		}
	}
	return out
}

// Repository reports whether git treats the directory itself as a repository, as it does a .git or a bare repository.
func Repository(dir string) bool {
	return Head(dir) && (there(dir, "commondir") || there(dir, "objects") && there(dir, "refs"))
}

// Head reports whether a directory contains what every repository contains.
func Head(dir string) bool { return there(dir, "HEAD") }

func there(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
