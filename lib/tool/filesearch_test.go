package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/card"
	"clawsh/lib/record"
)

func TestFileSearch(t *testing.T) {
	env := testEnv(t)
	put(t, env, "b/two.go", "package b\n\n// TODO: later\nfunc Two() {}\n")
	put(t, env, "a.txt", "todo one\r\nnothing\nTODO two\n")
	put(t, env, "c/deep/er/x.go", "TODO\n")
	put(t, env, "bin", "TODO\x00")
	put(t, env, "long", strings.Repeat("x", 5000)+"TODO"+strings.Repeat("y", 5000)+"\n")
	for _, c := range []struct{ args, want string }{
		{`{"pattern":"TODO","glob":"*.go"}`, "b/two.go:3: // TODO: later\nc/deep/er/x.go:1: TODO\n"},
		{`{"pattern":"TODO","glob":"b/*.go"}`, "b/two.go:3: // TODO: later\n"},
		{`{"pattern":"TODO","glob":"**/x.{go,c}"}`, "c/deep/er/x.go:1: TODO\n"},
		{`{"pattern":"TODO","glob":"deep/**","path":"c"}`, "c/deep/er/x.go:1: TODO\n"},
		{`{"pattern":"todo","path":"a.txt"}`, "a.txt:1: todo one\n"},
		{`{"pattern":"todo","path":"a.txt","ignore_case":true}`, "a.txt:1: todo one\na.txt:3: TODO two\n"},
		{`{"pattern":"one$","path":"a.txt","context":1}`, "a.txt:1: todo one\na.txt-2- nothing\n"},
		{`{"pattern":"^func (\\w+)","context":2}`,
			"b/two.go-2- \nb/two.go-3- // TODO: later\nb/two.go:4: func Two() {}\n[1 binary file skipped]\n"},
		{`{"pattern":"nowhere"}`, "no match in 5 files\n[1 binary file skipped]\n"},
		{`{"pattern":"TODO","limit":1}`,
			"a.txt:3: TODO two\n[stopped at 1 match: narrow pattern, path or glob, or raise limit (at most 1000)]\n"},
	} {
		if r := call(t, env, "file_search", c.args); !r.Success || r.Output != c.want {
			t.Errorf("%s:\n%s%s\nwant\n%s", c.args, r.Output, r.Error, c.want)
		}
	}
	r := call(t, env, "file_search", `{"pattern":"TODO","path":"long"}`)
	if !r.Success || len(r.Output) > 400 || !strings.Contains(r.Output, "…xxx") ||
		!strings.Contains(r.Output, "TODOyyy") {
		t.Errorf("a long line: %q", r.Output)
	}
	put(t, env, "groups", "m\n1\n2\n3\n4\nm\n")
	if r := call(t, env, "file_search",
		`{"pattern":"m","path":"groups","context":1}`); r.Output != "groups:1: m\ngroups-2- 1\n--\ngroups-5- 4\ngroups:6: m\n" {
		t.Errorf("groups: %q", r.Output)
	}
}

func TestFileSearchRefuses(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	put(t, env, "forbidden/x", "secret")
	env.Config.Security.ForbiddenPaths = []string{filepath.Join(env.Config.WorkspaceDir, "forbidden")}
	for _, path := range []string{outside, "..", "../outside.txt", "out", "out2", "up", "rootlink/etc", "~",
		"forbidden", "forbidden/x", "loop", "dangling", "absent", "fifo", "sock"} {
		r := call(t, env, "file_search", card.SearchArgs{Pattern: ".", Path: path})
		if path == "up" { // the workspace's own parent
			path = "up/"
		}
		if r.Success || r.Output != "" || strings.Contains(r.Error, "secret") {
			t.Errorf("%q: %+v", path, r)
		}
	}
	// from the top, links and what is forbidden are passed by, and .git is not looked into
	must(t, os.Remove(env.Config.WorkspaceDir+"/hard"))
	r := call(t, env, "file_search", `{"pattern":"secret|inside|core"}`)
	if !r.Success || r.Output != "d/in.txt:1: inside\n[1 place could not be read]\n" {
		t.Errorf("%+v", r)
	}
	for _, args := range []string{`{}`, `{"pattern":""}`, `{"pattern":"("}`, `{"pattern":"(?=x)"}`,
		`{"pattern":"x","limit":0}`, `{"pattern":"x","limit":1001}`,
		`{"pattern":"x","context":11}`, `{"pattern":"x","context":-1}`, `{"pattern":"x","glob":5}`,
		`{"pattern":"x","root":"/"}`,
		`{"pattern":"` + strings.Repeat("x", 1001) + `"}`, `{"pattern":"x","glob":"` + strings.Repeat("x", 501) +
			`"}`} {
		if r := call(t, env, "file_search", args); r.Success || !strings.Contains(r.Error, "invalid arguments") {
			t.Errorf("%.60s: %+v", args, r)
		}
	}
}

func TestFileSearchIsBounded(t *testing.T) {
	env := testEnv(t)
	put(t, env, "much", strings.Repeat("a line that matches\n", 3000))
	r := call(t, env, "file_search", `{"pattern":"matches","limit":1000}`)
	if !r.Success || r.Meta.Truncated || len(r.Output) > env.Config.Limits.MaxOutputBytes ||
		!strings.Contains(r.Output, "which fill the output") {
		t.Errorf("%d bytes, %+v", len(r.Output), r.Meta)
	}
	put(t, env, "slow", strings.Repeat(strings.Repeat("ab", 500)+"\n", 60)) // within max_file_bytes
	for i := range 200 {
		put(t, env, fmt.Sprintf("z/%d", i), strings.Repeat(strings.Repeat("ab", 500)+"\n", 60))
	}
	r, looks := searchUntil(t, env, `{"pattern":"(a*b*)*c(a|b)*d","glob":"z/*"}`, 100)
	if !strings.Contains(r.Output, "stopped for time after ") || looks > 110 {
		t.Errorf("after %d looks at the time: %+v", looks, r)
	}
}

// ending is a context whose time is up when it has been looked at some times.
type ending struct {
	context.Context
	looks, most int
}

func (e *ending) Err() error {
	if e.looks++; e.looks > e.most {
		return context.DeadlineExceeded
	}
	return nil
}

// searchUntil searches until the time has been looked at some times, and says how often it was.
func searchUntil(t *testing.T, env *Env, args string, most int) (Result, int) {
	t.Helper()
	env.Config.Limits.ToolTimeoutS = 3600
	over, cancel := withTimeout(t.Context(), 0, 0)
	defer cancel()
	ctx := &ending{Context: over, most: most}
	r := bind(searchFiles).invoke(ctx, record.Raw(args), env)
	return r, ctx.looks
}

// TestFileSearchPatternsAreBounded: no pattern keeps a search from looking at the time.
func TestFileSearchPatternsAreBounded(t *testing.T) {
	env := testEnv(t)
	put(t, env, "a", "a\n")
	for _, p := range []string{strings.Repeat("(a?){1000}", 80) + "b", "(a?){1000}{3}", "((a{1,50}){50}b?){50}",
		strings.Repeat("x{0,1000}", 100)} {
		if r := call(t, env, "file_search", fmt.Sprintf(`{"pattern":%q}`, p)); r.Success ||
			!strings.Contains(r.Error, "repe") {
			t.Errorf("%s: %+v", p, r)
		}
	}
	for _, p := range []string{`\\w{1,200}@\\w{1,200}`, `\\p{L}+|(\\d{1,3}\\.){3}`, strings.Repeat("a", 900)} {
		if r := call(t, env, "file_search", fmt.Sprintf(`{"pattern":"%s"}`, p)); !r.Success {
			t.Errorf("%s: %+v", p, r)
		}
	}
	put(t, env, "long", strings.Repeat(strings.Repeat("a", 300)+"\n", 300))
	r, looks := searchUntil(t, env, `{"pattern":"(a?){50}b"}`, 1<<30)
	if least := 300 * 301 / (lookAfter + 301); !r.Success || looks < least {
		t.Errorf("it looked %d times at the time, want %d: %+v", looks, least, r)
	}
	if r, looks = searchUntil(t, env, `{"pattern":"(a?){50}b"}`, 10); !r.Success ||
		!strings.Contains(r.Output, "stopped for time") || looks > 20 {
		t.Errorf("after %d looks: %+v", looks, r)
	}
}

func TestFileSearchHonoursGitignore(t *testing.T) {
	env := testEnv(t)
	put(t, env, ".gitignore", "*.log\n!keep.log\nbuild/\n/top\ndocs/*.tmp\n# comment\nodd\\ \n**/gen/**\n")
	put(t, env, "sub/.gitignore", "!again.log\n*.go\n")
	for _, name := range []string{"a.log", "keep.log", "build/x", "sub/build/x", "top", "sub/top", "docs/a.tmp",
		"docs/d/a.tmp", "sub/again.log", "sub/b.log", "sub/x.go", "x.go",
		"sub/gen/x", "gen/x", "odd ", ".hidden"} {
		put(t, env, name, "needle\n")
	}
	r := call(t, env, "file_search", `{"pattern":"needle"}`)
	want := ".hidden:1: needle\ndocs/d/a.tmp:1: needle\nkeep.log:1: needle\nsub/again.log:1: needle\nsub/top:1: needle\nx.go:1: needle\n"
	if !r.Success || r.Output != want {
		t.Errorf("%s%s", r.Output, r.Error)
	}
	// from below the rules of the directories above hold; what is named itself is searched, ignored or not
	if r = call(t, env, "file_search",
		`{"pattern":"needle","path":"sub"}`); r.Output != "sub/again.log:1: needle\nsub/top:1: needle\n" {
		t.Errorf("%s%s", r.Output, r.Error)
	}
	if r = call(t, env, "file_search", `{"pattern":"needle","path":"build"}`); r.Output != "build/x:1: needle\n" {
		t.Errorf("%s%s", r.Output, r.Error)
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a.go", true}, {"*.go", "a/b.go", false}, {"**/*.go", "a.go", true}, {"**/*.go", "a/b/c.go", true},
		{"a/**", "a/b/c", true},
		{"a/**", "b/a/c", false}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"a**b", "axxb", true},
		{"a**b", "ax/b", false},
		{"?", "é", true}, {"?", "/", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"[!a-c]x", "dx", true},
		{"[", "[", true},
		{"[]]", "]", true}, {"x[", "x[", true}, {`\*`, "*", true}, {`\*`, "a", false}, {"{a,b}.c", "b.c", true},
		{"{a,b", "{a,b", true},
		{"a.b", "axb", false}, {"é*", "éa", true}, {"(a)", "(a)", true}, {"a+", "aa", false},
	} {
		re, err := compileGlob(c.glob, true)
		if err != nil || re.MatchString(c.path) != c.want {
			t.Errorf("%q %q: want %v, %v", c.glob, c.path, c.want, err)
		}
	}
}

// FuzzGlob: no pattern of names fails in another way than by an error.
func FuzzGlob(f *testing.F) {
	f.Add("**/[!a-z]{b,c}?\\", "a/b", false)
	f.Fuzz(func(t *testing.T, glob, path string, braces bool) {
		if re, err := compileGlob(glob, braces); err == nil {
			re.MatchString(path)
		}
		parseIgnore("", glob, maxIgnoreRules)
	})
}

// FuzzSearchStaysInside: whatever is asked for, no line of a file outside is found.
func FuzzSearchStaysInside(f *testing.F) {
	env := testEnv(f)
	ws := env.Config.WorkspaceDir
	for path, to := range map[string]string{"out": "../outside.txt", "up": "..", "root": "/", "d/up": "../.."} {
		os.MkdirAll(filepath.Dir(filepath.Join(ws, path)), 0o755)
		if err := os.Symlink(to, filepath.Join(ws, path)); err != nil {
			f.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(filepath.Dir(ws), "outside.txt"), []byte("treasure\n"), 0o644)
	os.WriteFile(filepath.Join(ws, "in.txt"), []byte("gold\n"), 0o644)
	for _, path := range []string{".", "up/outside.txt", "out", "d/../up", "d/up", "root/etc", "./in.txt"} {
		f.Add(path, "*")
	}
	tool, _ := Lookup("file_search")
	f.Fuzz(func(t *testing.T, path, glob string) {
		args, err := recordEncode(card.SearchArgs{Pattern: "t[r]easure|gold|root:", Path: path, Glob: glob})
		if err != nil {
			return
		}
		if r := Run(t.Context(), tool, args, env); strings.Contains(r.Output, "treasure") ||
			strings.Contains(r.Output, "root:x") {
			t.Fatalf("%q %q: %+v", path, glob, r)
		}
	})
}

// TestFileSearchBoundsGitignores: slow rules at each depth count together, and the time is looked at between them.
func TestFileSearchBoundsGitignores(t *testing.T) {
	env := testEnv(t)
	slow := strings.Repeat(strings.Repeat("*a", 124)+"b\n", 1000)
	dir := ""
	for range 30 {
		put(t, env, dir+".gitignore", slow)
		dir += "d/"
	}
	put(t, env, dir+strings.Repeat("a", 250), "needle\n")
	r, looks := searchUntil(t, env, `{"pattern":"needle"}`, 100)
	if !r.Success || !strings.Contains(r.Output, "stopped for time") || looks > 200 {
		t.Errorf("after %d looks at the time: %s%s", looks, r.Output, r.Error)
	}
	var stack ignores
	for range 3 {
		stack = append(stack, parseIgnore("", slow, maxIgnoreRules-stack.rules()))
	}
	if got := stack.rules(); got != maxIgnoreRules {
		t.Errorf("%d rules in all", got)
	}
	looked := 0
	if !stack.match("x", false, func() bool { looked++; return looked == 3 }) || looked != 3 {
		t.Errorf("looked at the time %d times", looked)
	}
}
