package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/obeyed"
	"clawsh/lib/record"
	"clawsh/test/need"
)

// routes are the ways in which a call writes a file: NAME is the file.
var routes = []string{"echo x > NAME", "echo x >> NAME", "cat a >| NAME", "cp a NAME", "cp -r dir NAME", "mv a NAME",
	"mv NAME old",
	"echo x | tee NAME", "echo x | tee -a a NAME", "sed -i s/a/b/ NAME", "touch NAME", "mkdir -p NAME",
	"sort -o NAME a", "uniq a NAME",
	"cd dir && echo x > ../NAME", "for f in 1 2; do echo x > NAME; done", "true && { cp a NAME; }",
	"if true; then echo > NAME; fi",
	"(echo x > NAME)", "ln -s a NAME", "install -m 600 a NAME", "dd if=a of=NAME", "tar -xf a.tar NAME",
	"unzip -o a.zip NAME",
	"python3 a.py NAME", "rsync -a dir/ NAME", "xargs -I{} cp {} NAME", "find . -name a -exec cp {} NAME \\;",
	"eval 'echo x > NAME'"}

// TestObeyed holds every row of the table to every route: nothing that other programs obey is written unasked, at any
// level, and the question says which program obeys.
func TestObeyed(t *testing.T) {
	full, supervised := policyIn(t, "full", nil), policyIn(t, "supervised", nil)
	asking := policyIn(t, "supervised", func(c *config.Config) { c.Security.High = "ask" })
	for _, p := range []*Policy{full, supervised, asking} {
		for _, name := range []string{"a", "dir/x"} {
			os.MkdirAll(filepath.Dir(filepath.Join(p.root, name)), 0o755)
			if err := os.WriteFile(filepath.Join(p.root, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	n, nth := 0, 4
	if need.Soak() {
		nth = 1
	}
	for _, row := range obeyed.Rows() {
		for _, pattern := range row.Names {
			n++
			base := strings.ReplaceAll(pattern, "*", "x")
			held(t, row, full, Ask, base, some(routes, n, nth))
			held(t, row, full, Ask, "sub//deep/../"+base, routes[:4])
			held(t, row, supervised, Deny, "./sub/"+base, routes[:4])
			held(t, row, asking, Ask, "./sub/"+base, routes[:4])
		}
	}
}

// some are one in n of the routes, from the i-th on: each name takes some of them, and each of them some of the names.
func some(routes []string, i, n int) (out []string) {
	for k, route := range routes {
		if (i+k)%n == 0 {
			out = append(out, route)
		}
	}
	return out
}

func held(t *testing.T, row obeyed.Row, p *Policy, want Outcome, name string, routes []string) {
	t.Helper()
	calls := []Call{{Tool: "file_write", Args: args(t, map[string]string{"path": name, "content": "x"})},
		{Tool: "file_edit", Args: record.Raw(`{"path":` + jqText(name) + `,"edits":[{"old":"a","new":"b"}]}`)}}
	for _, route := range routes {
		calls = append(calls, Call{Tool: "shell",
			Args: args(t, map[string]string{"command": strings.ReplaceAll(route, "NAME", name)})})
	}
	for _, c := range calls {
		v := p.Decide(c)
		switch {
		case v.Risk != record.RiskHigh || v.Outcome == Allow:
			t.Errorf("%s %s at %s: %v, %s: %s", c.Tool, c.Args, p.autonomy, v.Outcome, v.Risk, v.Reason)
		case v.Outcome == Deny && !v.lifts: // blocked
		case strings.HasSuffix(name, ".git"):
		case v.Outcome != want:
			t.Errorf("%s %s at %s: %v, want %v: %s", c.Tool, c.Args, p.autonomy, v.Outcome, want, v.Reason)
		case v.Rule != ruleObeyed || !strings.Contains(v.Reason, row.Program+" would obey") || len(v.Obeyed) == 0:
			t.Errorf("%s %s: the question does not say who obeys: %s %s %q", c.Tool, c.Args, v.Rule, v.Reason, v.Obeyed)
		}
	}
}

func args(t *testing.T, m map[string]string) record.Raw {
	t.Helper()
	raw, err := record.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestOrdinaryNames: the project's own code is no such file.
func TestOrdinaryNames(t *testing.T) {
	p := policyIn(t, "supervised", nil)
	for _, name := range []string{"Makefile", "package.json", "go.mod", "go.work", "Cargo.toml", "build.rs", "setup.py",
		"conftest.py", "src/head/x.js",
		"head", "README.md", ".editorconfig", ".gitignore", ".env", ".nvmrc", ".dockerignore",
		".github/workflows/ci.yml", "config/git.go",
		"refs/a", "objects/b", "model.pth", ".docker/Dockerfile", "eslint.config.js", ".prettierrc", "tsconfig.json",
		"Dockerfile", "AGENTS.md"} {
		if v := p.Decide(Call{Tool: "file_write",
			Args: args(t, map[string]string{"path": name, "content": "x"})}); v.Risk != record.RiskMedium {
			t.Errorf("%s is %s: %s", name, v.Risk, v.Reason)
		}
		if v := p.Decide(Call{Tool: "shell",
			Args: args(t, map[string]string{"command": "mkdir -p x; cp a " + name})}); v.Risk != record.RiskMedium {
			t.Errorf("cp a %s is %s: %s", name, v.Risk, v.Reason)
		}
	}
}

// TestBareRepository: what makes a directory a repository, in whatever order, and what it then runs.
func TestBareRepository(t *testing.T) {
	p := policyIn(t, "full", nil)
	write := func(name string) Verdict {
		return p.Decide(Call{Tool: "file_write", Args: args(t, map[string]string{"path": name, "content": "x"})})
	}
	if v := write("sub/HEAD"); v.Outcome != Ask || !strings.Contains(v.Reason, "repository") {
		t.Errorf("HEAD: %+v", v)
	}
	if v := write("sub/objects/x"); v.Outcome != Allow {
		t.Errorf("objects without HEAD: %+v", v)
	}
	place := func(name string) {
		path := filepath.Join(p.root, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	place("sub/HEAD")
	for _, name := range []string{"sub/objects/x", "sub/refs/heads/x", "sub/commondir"} {
		if v := write(name); v.Outcome != Ask || !strings.Contains(v.Reason, "repository") {
			t.Errorf("%s beside HEAD: %+v", name, v)
		}
	}
	place("sub/objects/x")
	place("sub/refs/x")
	for _, name := range []string{"sub/config", "sub/hooks/post-checkout", "sub/CONFIG", "sub/worktrees/x/config",
		"sub/info/attributes", "sub/commondir"} {
		if v := write(name); v.Outcome != Deny || v.Rule != "path.protected" {
			t.Errorf("%s in a bare repository: %+v", name, v)
		}
	}
	if v := write("sub/packed-refs"); v.Outcome != Ask {
		t.Errorf("packed-refs in a bare repository: %+v", v)
	}
	if v := p.Decide(Call{Tool: "shell",
		Args: args(t, map[string]string{"command": "mv sub other"})}); v.Outcome == Allow {
		t.Errorf("a repository is moved: %+v", v)
	}
}

// TestNewRepository: a directory becomes a repository only through a question that says so.
func TestNewRepository(t *testing.T) {
	p := policyIn(t, "full", func(c *config.Config) {
		c.Security.AllowedCommands = append(c.Security.AllowedCommands,
			"git init")
	})
	for command, place := range map[string]string{"git init": ".git", "git init -q -b main sub": "sub/.git",
		"cd sub && git init":                    "sub/.git",
		"git clone https://example.com/a/b.git": "b/.git", "git clone --depth 1 a sub": "sub/.git",
		"(cd sub; git init x)": "sub/x/.git"} {
		v := p.Decide(Call{Tool: "shell", Args: args(t, map[string]string{"command": command})})
		if v.Outcome != Ask || !strings.Contains(v.Reason, "creates a repository") ||
			!slices.Contains(v.Obeyed, place) {
			t.Errorf("%s: %+v", command, v)
		}
	}
}

// TestForeseen: the second look lets through what the question was about, and nothing else of that kind.
func TestForeseen(t *testing.T) {
	p := policyIn(t, "full", nil)
	with := Permitted{Risk: record.RiskHigh, Obeyed: []string{".envrc"}}
	cp := func(to string) []string { return []string{"/bin/cp", "a", to} }
	if err := p.ExecIn(t.Context(), p.root, cp(".envrc"), with); err != nil {
		t.Error(err)
	}
	if err := p.Access(t.Context(), filepath.Join(p.root, ".envrc"), true, with); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"sub/.envrc", ".npmrc", "HEAD"} {
		if p.ExecIn(t.Context(), p.root, cp(name), with) == nil ||
			p.Access(t.Context(), filepath.Join(p.root, name), true, with) == nil {
			t.Errorf("%s was not asked about, and is written", name)
		}
	}
	if p.Access(t.Context(), filepath.Join(p.root, ".envrc"), false, Permitted{}) != nil {
		t.Error("reading needs no question")
	}
}
