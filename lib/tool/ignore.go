package tool

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	ignoreName     = ".gitignore"
	maxIgnoreBytes = 256 << 10
	maxIgnoreRules = 2000
)

// ignoreRule is a line of a .gitignore.
type ignoreRule struct {
	glob     *regexp.Regexp
	negated  bool
	dirsOnly bool
	anchored bool // matches the path from the file's directory, not only a name
}

// ignoreFile are the rules of a directory, for it and for what is below.
type ignoreFile struct {
	dir   string // relative to the workspace; "" is itself
	rules []ignoreRule
}

// parseIgnore reads the rules of a .gitignore. Lines that make no pattern match nothing.
func parseIgnore(dir, text string) ignoreFile {
	f := ignoreFile{dir: dir}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if len(f.rules) == maxIgnoreRules {
			break
		}
		if r, ok := parseIgnoreRule(strings.TrimSuffix(line, "\r")); ok {
			f.rules = append(f.rules, r)
		}
	}
	return f
}

func parseIgnoreRule(line string) (r ignoreRule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = strings.TrimSuffix(line, " ")
	}
	if line == "" || line[0] == '#' {
		return r, false
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirsOnly = strings.CutSuffix(line, "/")
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	glob, err := compileGlob(line, false)
	r.glob = glob
	return r, err == nil
}

// ignores is a stack of ignoreFiles, the outermost first.
type ignores []ignoreFile

// match tells whether a path is ignored: the last rule that matches decides, of the innermost file that has one.
func (s ignores) match(rel string, dir bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		f := s[i]
		below := rel
		if f.dir != "" {
			below = strings.TrimPrefix(rel, f.dir+"/")
		}
		for j := len(f.rules) - 1; j >= 0; j-- {
			r := f.rules[j]
			if r.dirsOnly && !dir {
				continue
			}
			name := below
			if !r.anchored {
				name = path.Base(below)
			}
			if r.glob.MatchString(name) {
				return !r.negated
			}
		}
	}
	return false
}

// withIgnore adds the .gitignore of a directory, if there is one. A link is not followed, as git does not.
func (w *workspace) withIgnore(s ignores, dir string) ignores {
	rel := path.Join(dir, ignoreName)
	info, err := w.root.Lstat(rel)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return s
	}
	f, _, err := w.openRead(rel)
	if err != nil {
		return s
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIgnoreBytes))
	if err != nil {
		return s
	}
	if dir == "." {
		dir = ""
	}
	parsed := parseIgnore(dir, string(b))
	if len(parsed.rules) == 0 {
		return s
	}
	return append(s[:len(s):len(s)], parsed)
}
