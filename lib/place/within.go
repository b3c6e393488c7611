// Package place says which directory contains which path, and where links lead. It has the only check of containment,
// which every other package uses.
package place

import (
	"path/filepath"
	"strings"
)

// Within reports whether path is dir or is below it, by whole names: /a does not contain /ab. Both are cleaned, and
// links are not followed. A relative or empty path is below nothing and contains nothing.
func Within(dir, path string) bool {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(path) {
		return false
	}
	dir, path = filepath.Clean(dir), filepath.Clean(path)
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// WithinFold is like Within for forbidden places, where some file systems treat SSH as ssh: it may return true for a
// path elsewhere, but never false for a path within dir.
func WithinFold(dir, path string) bool {
	return Within(dir, path) || Within(strings.ToLower(dir), strings.ToLower(path))
}

// Below returns path relative to dir, "." for dir itself; ok is false if path is not within dir.
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
