package policy

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/place"
)

// ran are the words that the interpreter gives to a command at the end of a script.
func ran(t *testing.T, dir, script string) ([]string, bool) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("%q: %v", script, err)
	}
	var words []string
	called := false
	r, err := interp.New(interp.StdIO(nil, &bytes.Buffer{}, &bytes.Buffer{}), interp.Dir(dir),
		interp.ReadDirHandler2(func(ctx context.Context, path string) ([]fs.DirEntry, error) {
			if path != dir && place.Within(path, dir) {
				return nil, nil // as the shell tool has it
			}
			return os.ReadDir(path)
		}), interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(_ context.Context, argv []string) error { words, called = argv[1:], true; return nil }
		}))
	if err != nil {
		t.Fatal(err)
	}
	return words, r.Run(t.Context(), file) == nil && called
}

// What the gate knows of a word is what the interpreter makes of it: generated expansions of generated values.
func TestExpansionsAreWhatRuns(t *testing.T) {
	p := policyIn(t, "full", nil)
	values := []string{"", "a", "src/main.go", "a.b.c", "a b  c", "xAxBx", "/etc/passwd", "äöü", "..", "a*b", "[a]",
		"-n", "01"}
	args := []string{"", "x", "/*", "*/", ".*", "*.", "?", "a", "[a-c]", "[!a]", `\*`, `"*"`, "'a b'", "$b", `"$b"`,
		"${b%?}", "ä", "**", "x/y", "[", "[z-a]", "a/$b", "~", "1", " -1", "0:1", "1:2", "1: -1", "b"}
	random := rand.New(rand.NewPCG(11, 1))
	known := 0
	for _, op := range []string{"%", "%%", "#", "##", "/", "//", "/#", "/%", ":", "^", "^^", ",", ",,", ":-", "-", ":+",
		"+", ":?", "?"} {
		for _, arg := range args {
			for range 4 {
				a, b := values[random.IntN(len(values))], values[random.IntN(len(values))]
				word := fmt.Sprintf("${a%s%s}", op, arg)
				if random.IntN(2) == 0 {
					word = `"` + word + `"`
				}
				script := fmt.Sprintf("a='%s'; b='%s'; c=%s; show %s p\"$c\"", a, b, word, word)
				file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
				if err != nil {
					continue
				}
				got, ok := staticWords(p, file)
				if !ok {
					continue
				}
				known++
				if want, ran := ran(t, p.root, script); ran && !slices.Equal(got, want) {
					t.Errorf("%s: the gate knows %q, what runs is %q", script, got, want)
				}
			}
		}
	}
	if known < 800 {
		t.Errorf("only %d expansions were followed", known)
	}
}

// staticWords are the words of the last command as the gate knows them.
func staticWords(p *Policy, file *syntax.File) ([]string, bool) {
	j, s := &judge{on: p, effort: newEffort()}, p.start()
	last := len(file.Stmts) - 1
	j.list(file.Stmts[:last], s)
	var out []string
	for _, w := range file.Stmts[last].Cmd.(*syntax.CallExpr).Args[1:] {
		vs, f := j.words(w, s)
		if f.blocked {
			return nil, false
		}
		for _, v := range vs {
			if !v.known {
				return nil, false
			}
			out = append(out, v.text)
		}
	}
	return out, true
}

// Expansions of known values are judged by what they become; all others as before.
func TestExpansionsAreJudged(t *testing.T) {
	p, middle := ways(t)
	for script, want := range map[string]int{
		"a=a.txtx; cat ${a%x}": 1, "a=xa.txt; cat ${a#x}": 1, "a=b.txt; cat ${a/b/a}": 1,
		"a=a.txt; cat sub/${a%.*}.go": 1, "a=A.TXT; cat ${a,,}": 1, "a=zza.txt; cat ${a:2}": 1,
		"a=a.txt; cat ${a:0:1}.txt": 1, "a=a.txt; b=${a%.txt}.md; cat $b": 1, "a=a.txt; b=sub/$a; cat $b": 1,
		"a=; cat ${a:-a.txt}": 1, "a=x; cat ${a:+a.txt}": 1,
		"a=x; cat ${a:?no}": 1, `a=a.txt; for f in a b; do cat ${a/a/$f}; done`: 1,
		"a=a.txt; readonly b=${a%.txt}; cat $b.txt": 1, "a=a.txt; readonly a; cat $a": 1,

		"a=/etc/passwdx; cat ${a%x}": 3, "a=x/etc/passwd; cat ${a#x}": 3, "a=_etc_passwd; cat ${a//_//}": 3,
		"a=.; cat $a${a}/${a:0:1}.": 3, "a=/ETC/PASSWD; cat ${a,,}": 3,
		"a=x/etc/passwd; cat ${a:1}": 3, "a=; cat ${a:-/etc/passwd}": 3, "a=/etc; b=$a/passwd; cat $b": 3,
		"a=/etc/x; cat ${a/%x/passwd}": 3, "a=/etcx; b=${a%x}; cat $b/passwd": 3,
		"readonly a=/etc/passwd; a=a.txt; cat $a": 2, "a=/etc/passwd; local a=a.txt; cat $a": 2,
		"a=/etc/passwd; readonly a; cat $a":                              3,
		"readonly a=/etc/passwd; for a in a.txt; do cat $a; done":        2,
		"if test -e x; then readonly a=/etc/passwd; fi; a=a.txt; cat $a": 2,
		"a=1; ((a++)); cat ${a%1}x":                                      2,

		"a=$(ls); cat ${a%x}": 2, "read a; cat ${a%x}": 2, "cat ${a%x}": 2, "a=x; cat ${a%$(ls)}": 2,
		"a=x; cat ${a%$b}": 2, "a=x; cat ${!a}": 2, "a=x; cat ${a@P}": 2, "a=x; cat ${a:=y}": 2,
		"a=x; cat ${a:b}": 2, "a=x; cat ${a[0]}": 2, "a=x; $a": 2, "a=lsx; ${a%x}": 2, "a=rmx; ${a%x} -rf y": 3,
		"a=~; cat ${a%x}": 2,
		"a=" + strings.Repeat("x", 900) + "; cat ${a//x/" + strings.Repeat("y", 200) + "}": 2,
		"a=" + strings.Repeat("x", 90) + "; cat ${a//x/${a//x/$a}}":                        2,
	} {
		for _, q := range []*Policy{p, middle} {
			f := q.script(script, newEffort())
			if rank := f.rank(); rank != want && !(want == 1 && rank == 0 && q == middle) {
				t.Errorf("%.90q: rank %d, want %d (%s)", script, rank, want, f.reason)
			}
		}
	}
}
