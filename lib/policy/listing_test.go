package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/test/need"
)

// wide is a file system that holds wide directories below the workspace, and counts what is read of it.
type wide struct {
	root           string
	names          int
	reads, entries int
	per            map[string]int
	made           map[string][]fs.DirEntry // by the kind of entry
	on             func()
}

func (w *wide) EvalSymlinks(path string) (string, error) { return path, nil }

func (w *wide) ReadDir(dir string) ([]fs.DirEntry, error) {
	w.reads++
	w.per[dir]++
	if w.on != nil {
		w.on()
	}
	out, n, tooMany := []fs.DirEntry(nil), w.names, false
	switch {
	case dir == w.root:
		n = 20
	case !strings.HasPrefix(filepath.Base(dir), "d"):
		return nil, fs.ErrNotExist
	case n > maxNames:
		n, tooMany = maxNames+1, true
	}
	kind := "f"
	if dir == w.root {
		kind = "d"
	}
	if out = w.made[kind]; len(out) != n { // making names takes longer than judging them
		for i := len(out); i < n; i++ {
			out = append(out, entry(fmt.Sprintf("%s%05d", kind, i)))
		}
		w.made[kind] = out
	}
	out = slices.Clone(out[:n])
	w.entries += n
	if tooMany {
		return out, errManyNames
	}
	return out, nil
}

// entry is a directory if its name begins with d.
type entry string

func (e entry) Name() string { return string(e) }
func (e entry) IsDir() bool  { return e[0] == 'd' }
func (e entry) Type() fs.FileMode {
	if e.IsDir() {
		return fs.ModeDir
	}
	return 0
}
func (e entry) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// walks are ways in which a command has directories read before it runs. # is a number, W one of twenty wide
// directories.
var walks = map[string][3]string{
	"cp": {"cp", " d00000", " d"}, "cp of many": {"cp", " W", " d"}, "cp -r": {"cp -r", " d00000", " d"},
	"cp -r of many": {"cp -r", " W", " d"}, "mv": {"mv", " d00000", " d"}, "mv of many": {"mv", " W", " d"},
	"cp to many": {"", "cp -r d00000 x#;", ""}, "cp of all": {"cp -r", " .", " x"}, "mv to many": {"", "mv W x#;", ""},
	"ls": {"ls", " d00000/*", ""}, "ls of many": {"ls", " W/*", ""}, "ls of other names": {"ls", " W/*#", ""},
	"all": {"ls", " */*", ""}, "deep": {"ls", " ./*/./*", ""}, "cat": {"cat", " W/f*", ""},
	"echo":       {"echo", " W/*", ""},
	"statements": {"", "cat W/*;", ""}, "and": {"ls", " && ls W/*", ""}, "words of and": {"ls", " && cp W x", ""},
	"pipe": {"ls", " | cat W/*", ""}, "substitution": {"echo", " $(ls W/*)", ""},
	"for":            {"for a in", " W/*", "; do cat $a; done"},
	"for of for":     {"", "for a in 1 2 3 4 5 6 7 8; do ls W/*; done;", ""},
	"loops in loops": {"for a in 1 2 3 4 5 6 7 8; do for b in 1 2 3 4 5 6 7 8; do ", "ls W/f*$a$b;", " done; done"},
	"loop of cp":     {"for a in 1 2 3 4 5 6 7 8; do for b in 1 2 3 4 5 6 7 8; do ", "cp W x$a$b;", " done; done"},
	"while":          {"while ls; do ", "cp W x;", "done"}, "case": {"case a in ", "#) ls W/*;;", " esac"},
	"if":   {"", "if ls W/*; then mv W x; fi;", ""},
	"find": {"find", " W", " -exec cat {} +"}, "find runs": {"find .", " -exec cat {} +", ""},
	"find and xargs": {"", "find . | xargs cat;", ""}, "find of many and xargs": {"find", " W", " | xargs cat"},
	"find -print0": {"", "find W -print0 | xargs -0 cat;", ""},
	"ls -L":        {"ls -L", " W", ""}, "diff": {"", "diff -r W d00001;", ""}, "test": {"", "[ -e W/* ];", ""},
	"redirect": {"", "cat < W/f0000#*;", ""}, "variables": {"a=d00000/*; ls", " $a", ""},
	"braces": {"ls", " {W,W}/*", ""}, "eval": {"", "eval 'ls W/*';", ""}, "sh -c": {"", "sh -c 'cp W x';", ""},
	"grep": {"grep x", " W/*", ""}, "nested": {"", "timeout 5 nice cp W x;", ""}, "env -C": {"", "env -C W ls *;", ""},
	"cd": {"", "(cd W; ls *);", ""}, "absolute": {"cp", " /W", " d"}, "unlisted": {"foo", " W/*", ""},
}

func walkScript(parts [3]string, n int) string {
	var b strings.Builder
	b.WriteString(parts[0])
	for i := range n {
		b.WriteString(strings.NewReplacer("#", fmt.Sprint(i), "W", fmt.Sprintf("d%05d", i%20)).Replace(parts[1]))
	}
	return b.String() + parts[2]
}

// Directories that are walked through take the steps that there are: each is read once for a verdict, its entries are
// paid for before they are used, and nothing is read after the steps have ended.
func TestDirectoriesTakeSteps(t *testing.T) {
	made := map[string][]fs.DirEntry{}
	for _, names := range []int{3000} {
		for i, name := range slices.Sorted(maps.Keys(walks)) {
			parts := walks[name]
			if !need.OneIn(6, i) {
				continue
			}
			for _, n := range []int{60} {
				script := walkScript(parts, n)
				if len(script) > maxScriptBytes {
					continue
				}
				p := policyIn(t, "full", nil)
				w := &wide{root: p.root, names: names, per: map[string]int{}, made: made}
				p.fs = w
				e := newEffort()
				w.on = func() {
					if e.steps > maxSteps {
						t.Errorf("%s of %d words, %d names: a directory is read after the steps have ended", name, n,
							names)
						w.on = nil
					}
				}
				f := p.script(script, e)
				for dir, times := range w.per {
					if times > 1 {
						t.Errorf("%s of %d words, %d names: %s is read %d times", name, n, names, filepath.Base(dir),
							times)
						break
					}
				}
				if w.entries > maxSteps/entrySteps+2*maxNames {
					t.Errorf("%s of %d words, %d names: %d entries are read", name, n, names, w.entries)
				}
				if e.steps > maxSteps && f.rule != "shell.complex" && !f.blocked {
					t.Errorf("%s of %d words, %d names: %s after all steps", name, n, names, f.rule)
				}
			}
		}
	}
}

// Who does not wait any more is not kept waiting: judging ends at the next steps, and the call is denied.
func TestJudgingIsCancelled(t *testing.T) {
	for name, parts := range walks {
		p := policyIn(t, "full", nil)
		ctx, cancel := context.WithCancel(t.Context())
		w := &wide{root: p.root, names: 2000, per: map[string]int{}, made: map[string][]fs.DirEntry{}, on: cancel}
		p.fs = w
		e := effortFor(ctx)
		script := strings.Repeat("true;", 300) + walkScript(parts, 60)
		if len(script) > maxScriptBytes {
			continue
		}
		f := p.script(script, e)
		if w.reads > 0 && e.steps > maxSteps && f.rule != "cancelled" && !f.blocked {
			t.Errorf("%s: %s %s", name, f.rule, f.reason)
		}
		cancel()
	}
	p := policyIn(t, "full", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := p.DecideFor(ctx, Call{Tool: "shell",
		Args: args(t, map[string]string{"command": strings.Repeat("ls a b c;", 400)})})
	if v.Outcome != Deny || v.Rule != "cancelled" {
		t.Errorf("cancelled: %+v", v)
	}
}

// A program that is about to start is judged as long as somebody waits: what ended that is the reason, not a refusal,
// and no directory is read after it.
func TestLookAtProgramsIsCancelled(t *testing.T) {
	ended := errors.New("the turn has ended")
	for name, argv := range map[string][]string{"cp -r": {"/bin/cp", "-r", "d00000", "d00001", "x"},
		"find": {"/usr/bin/find", ".", "-exec", "cat", "{}", "+"}, "mv": {"/bin/mv", "d00002", "x"},
		"ls -L": {"/bin/ls", "-LR", "."}, "grep": {"/bin/grep", "-R", "x", "."}, "git": {"/usr/bin/git", "status"},
		"unlisted": {"/bin/foo", "x"}} {
		for _, before := range []bool{false, true} {
			p := policyIn(t, "full", nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			w := &wide{root: p.root, names: 2000, per: map[string]int{}, made: map[string][]fs.DirEntry{},
				on: func() { cancel(ended) }}
			p.fs = w
			if before {
				cancel(ended)
			}
			err := p.ExecIn(ctx, p.root, argv, Permitted{Risk: "high"})
			if (before || w.reads > 0) && !errors.Is(err, ended) || w.reads > 1 || before && w.reads > 0 {
				t.Errorf("%s, before %v: %v, %d directories read", name, before, err, w.reads)
			}
			cancel(ended)
			if err := p.Access(ctx, p.root+"/a", false, Permitted{}); !errors.Is(err, ended) {
				t.Errorf("access: %v", err)
			}
			if !p.Alone(ctx, p.root, []string{"/usr/bin/git", "commit"}) {
				t.Error("git may start others, though nobody waits")
			}
		}
	}
}

// treeOf holds so many directories below src, in each so many files.
type treeOf struct{ directories, files int }

func (treeOf) EvalSymlinks(path string) (string, error) { return path, nil }

func (w treeOf) ReadDir(dir string) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	switch {
	case strings.HasPrefix(filepath.Base(dir), "src"):
		for i := range w.directories {
			out = append(out, entry(fmt.Sprintf("d%05d", i)))
		}
	case strings.HasPrefix(filepath.Base(dir), "d"):
		for i := range w.files {
			out = append(out, entry(fmt.Sprintf("f%05d", i)))
		}
	default:
		return nil, fs.ErrNotExist
	}
	return out, nil
}

// What copying a tree takes: a large one is judged, three of them too, and of what is too large the reason says what to
// do.
func TestCopyingTrees(t *testing.T) {
	for _, c := range []struct {
		script             string
		directories, files int
		rule, hint         string
	}{
		{"cp -r src1 x", 1500, 12, "", ""},
		{"cp -r src1 x; cp -r src2 y; cp -r src3 z", 1500, 12, "", ""},
		{"cp -r src1 src2 src3 x", 1500, 12, "", ""},
		{"cp -r src1 x", 3000, 12, "shell.construct", "one per call"},
		{"cp -r src1 src2 src3 src4 src5 src6 src7 x", 1500, 12, "shell.complex", "one per call"},
	} {
		p := policyIn(t, "full", nil)
		p.fs = treeOf{directories: c.directories, files: c.files}
		e := newEffort()
		f := p.script(c.script, e)
		if c.rule == "" && f.rank() > 1 || c.rule != "" && (f.rule != c.rule || !strings.Contains(f.reason, c.hint)) {
			t.Errorf("%s of %d directories with %d files each: %d steps, %s: %s", c.script, c.directories, c.files,
				e.steps, f.rule, f.reason)
		}
		t.Logf("%s: %d names, %d steps", c.script, c.directories*(c.files+1), e.steps)
	}
}
