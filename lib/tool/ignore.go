package tool

import (
	"context"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	ignoreName     = ".gitignore"
	maxIgnoreBytes = 256 << 10
	maxIgnoreRules = 2000 // of a .gitignore and of those around it
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

// parseIgnore reads the rules of a .gitignore, so many at most. Lines that make no pattern match nothing.
func parseIgnore(dir, text string, most int) ignoreFile {
	f := ignoreFile{dir: dir}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if len(f.rules) >= most {
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

// rules tells how many rules there are.
func (s ignores) rules() (n int) {
	for _, f := range s {
		n += len(f.rules)
	}
	return n
}

// lookEach is how many rules are tried between two looks at the time: one may take a millisecond.
const lookEach = 64

// match tells whether a path is ignored: the last rule that matches decides, of the innermost file that has one. A
// hostile tree has thousands of slow rules for each of its names: what is over before it is decided is ignored.
func (s ignores) match(rel string, dir bool, over func() bool) bool {
	tried := 0
	for i := len(s) - 1; i >= 0; i-- {
		f := s[i]
		below := rel
		if f.dir != "" {
			below = strings.TrimPrefix(rel, f.dir+"/")
		}
		for j := len(f.rules) - 1; j >= 0; j-- {
			r := f.rules[j]
			if tried++; tried%lookEach == 0 && over() {
				return true
			}
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
func (w *workspace) withIgnore(ctx context.Context, s ignores, dir string) ignores {
	rel := path.Join(dir, ignoreName)
	info, err := w.root.Lstat(rel)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return s
	}
	f, _, err := w.openRead(ctx, rel)
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
	parsed := parseIgnore(dir, string(b), maxIgnoreRules-s.rules())
	if len(parsed.rules) == 0 {
		return s
	}
	return append(s[:len(s):len(s)], parsed)
}
