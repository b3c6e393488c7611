package policy

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// matches are the names that a word means, or its text if it is no pattern or nothing matches.
func matches(field []piece, list lister) ([]string, bool) {
	var text, pat strings.Builder
	meta := false
	for _, p := range field {
		text.WriteString(p.text)
		if p.quoted {
			pat.WriteString(pattern.QuoteMeta(p.text, 0))
		} else {
			pat.WriteString(p.text)
			meta = meta || strings.ContainsAny(p.text, "*?[")
		}
	}
	if !meta || !pattern.HasMeta(pat.String(), 0) {
		return []string{text.String()}, true
	}
	found, ok := glob(pat.String(), list)
	if ok && len(found) == 0 {
		return []string{text.String()}, true
	}
	return found, ok
}

// lister lists a directory for a pattern.
type lister func(dir string) ([]fs.DirEntry, error)

// glob finds the names that a pattern matches, part by part.
func glob(pat string, list lister) ([]string, bool) {
	names := []string{""}
	if strings.HasPrefix(pat, "/") {
		names = []string{"/"}
		pat = pat[1:]
	}
	parts := strings.Split(pat, "/")
	for i, part := range parts {
		var next []string
		for _, dir := range names {
			found, ok := globPart(dir, part, i < len(parts)-1, list)
			if !ok || len(next)+len(found) > maxMatches {
				return nil, false
			}
			next = append(next, found...)
		}
		names = next
	}
	slices.Sort(names)
	return names, true
}

// under puts a name behind a directory, without cleaning it.
func under(dir, name string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

func globPart(dir, part string, wantDir bool, list lister) ([]string, bool) {
	if part == "" || part == "." || part == ".." {
		return []string{under(dir, part)}, true
	}
	if !pattern.HasMeta(part, 0) {
		_, err := list(under(dir, part))
		if errors.Is(err, fs.ErrNotExist) || err != nil && wantDir {
			return nil, true
		}
		return []string{under(dir, part)}, true
	}
	expr, err := pattern.Regexp(part, pattern.Filenames|pattern.EntireString|pattern.NoGlobStar)
	if err != nil {
		return nil, false
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, false
	}
	entries, err := list(dir)
	if err != nil && !absent(err) {
		return nil, false
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") || !re.MatchString(name) {
			continue
		}
		if wantDir && e.Type()&fs.ModeSymlink != 0 {
			if _, err := list(under(dir, name)); err != nil {
				continue
			}
		} else if wantDir && !e.IsDir() {
			continue
		}
		out = append(out, under(dir, name))
	}
	return out, true
}
