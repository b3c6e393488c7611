// Package place tells where paths lie: which directory contains which path, and where links lead. It is the one check of containment;
// every other package asks it.
package place

import (
	"path/filepath"
	"strings"
)

// Within tells whether path is dir or lies below it, by whole names: /a does not contain /ab. Both are cleaned, and links are not
// followed. A relative or empty path lies nowhere and contains nothing.
func Within(dir, path string) bool {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(path) {
		return false
	}
	dir, path = filepath.Clean(dir), filepath.Clean(path)
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// WithinFold is Within for places that must not be reached: some file systems take SSH for ssh. It may say so of a path that lies
// elsewhere, never the reverse.
func WithinFold(dir, path string) bool {
	return Within(dir, path) || Within(strings.ToLower(dir), strings.ToLower(path))
}

// Below is the name of path in dir, "." for dir itself; ok is false if it does not lie there.
func Below(dir, path string) (name string, ok bool) {
	if !Within(dir, path) {
		return "", false
	}
	name = strings.TrimPrefix(strings.TrimPrefix(filepath.Clean(path), filepath.Clean(dir)), "/")
	if name == "" {
		name = "."
	}
	return name, true
}
