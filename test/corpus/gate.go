package corpus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// Gate is a claw-gate binary with a prepared home and workspace.
type Gate struct {
	program string
	dir     string // holds home/ and w/, the workspace
}

// NewGate prepares an empty directory. program is the claw-gate binary.
func NewGate(program, dir string) (*Gate, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	g := &Gate{program: program, dir: real}
	for _, f := range files {
		path := filepath.Join(real, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("prepare the workspace: %w", err)
		}
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			return nil, fmt.Errorf("prepare the workspace: %w", err)
		}
	}
	for name, target := range map[string]string{"etc": "/etc", "root": "/", "up": "../..",
		"key": "../../home/.ssh/id_ed25519", "hooks": "../.git/hooks",
		"nowhere": "/nonexistent/x", "readme": "../README.md"} {
		if err := os.Symlink(target, filepath.Join(real, "w/links", name)); err != nil {
			return nil, fmt.Errorf("prepare the workspace: %w", err)
		}
	}
	return g, nil
}

// files are what is there before a session starts.
var files = []struct{ name, text string }{
	{"home/.ssh/id_ed25519", "a key\n"}, {"home/.bashrc", "\n"}, {"home/notes.txt", "private\n"},
	{"w2/secret.txt", "of another project\n"},
	{"w/README.md", "# demo\n"}, {"w/Makefile", "all:\n\techo\n"}, {"w/go.mod", "module demo\n"},
	{"w/package.json", "{}\n"}, {"w/script.py", "print(1)\n"},
	{"w/build.sh", "echo\n"}, {"w/src/main.go", "package main\n"}, {"w/src/util.go", "package main\n"},
	{"w/docs/guide.md", "# guide\n"},
	{"w/data/a.csv", "a,1\n"}, {"w/data/b.csv", "b,2\n"}, {"w/data/x.json", "{\"a\":1}\n"},
	{"w/logs/app.log", "INFO start\n"}, {"w/logs/app.log.1", "ERROR x\n"},
	{"w/logs/error.log", "ERROR y\n"}, {"w/tmp/keep", "\n"}, {"w/links/keep", "\n"},
	{"w/.git/HEAD", "ref: refs/heads/main\n"}, {"w/.git/config", "[core]\n"},
	{"w/.git/hooks/pre-commit.sample", "#!/bin/sh\n"},
}

// Judge asks the gate about all cases, at every autonomy level, and returns the level of each. A level that the
// decisions contradict is an error: a high-risk command that runs under supervision, say.
func (g *Gate) Judge(ctx context.Context, cases []Case) ([]Level, error) {
	verdicts := map[string][]record.Verdict{}
	for _, autonomy := range []string{"readonly", "supervised", "full"} {
		v, err := g.ask(ctx, autonomy, "autonomy = "+strconv.Quote(autonomy), cases)
		if err != nil {
			return nil, err
		}
		verdicts[autonomy] = v
	}
	levels := make([]Level, len(cases))
	for i, c := range cases {
		full := verdicts["full"][i]
		levels[i] = Level(full.Risk)
		if full.Decision == record.Deny {
			levels[i] = LevelBlocked
		}
		for autonomy, want := range expected(levels[i]) {
			if got := verdicts[autonomy][i]; got.Decision != want {
				return nil, fmt.Errorf("%q is %s, but the decision under %s is %s, not %s (%s)", c.Command, levels[i],
					autonomy, got.Decision, want, got.Reason)
			}
		}
	}
	return levels, nil
}

// Ask is the decision of claw-gate check that only a person can make.
const Ask = "ask"

// Way is one of the three ways to work that onboard offers: what the configuration says about security.
type Way struct{ Name, Security string }

// Middle is the way that onboard recommends.
var Middle = Way{"middle", "autonomy = \"supervised\"\nharmless = \"low\"\nhigh = \"ask\""}

// Ways are all of them, the strictest first.
var Ways = []Way{{"strict", `autonomy = "supervised"`}, Middle, {"full", `autonomy = "full"`}}

// Decide asks the gate about all cases at one way to work, and returns the decisions: allow, ask or deny.
func (g *Gate) Decide(ctx context.Context, w Way, cases []Case) ([]string, error) {
	verdicts, err := g.ask(ctx, w.Name, w.Security, cases)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(verdicts))
	for i, v := range verdicts {
		all[i] = v.Decision
	}
	return all, nil
}

// expected are the decisions about a level.
func expected(l Level) map[string]string {
	switch l {
	case LevelLow:
		return map[string]string{"readonly": record.Allow, "supervised": record.Allow}
	case LevelMedium:
		return map[string]string{"readonly": record.Deny, "supervised": Ask}
	}
	return map[string]string{"readonly": record.Deny, "supervised": record.Deny}
}

// ask runs claw-gate check once over all cases.
func (g *Gate) ask(ctx context.Context, name, security string, cases []Case) ([]record.Verdict, error) {
	home, work := filepath.Join(g.dir, "home"), filepath.Join(g.dir, "w")
	config := filepath.Join(g.dir, name+".toml")
	text := fmt.Sprintf("workspace_dir = %s\n[security]\n%s\n", strconv.Quote(work), security)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	var in, out, problems bytes.Buffer
	place := strings.NewReplacer("{{W}}", work, "{{HOME}}", home)
	for i, c := range cases {
		line, err := record.Encode(call{V: 1, Kind: record.KindToolCall, ID: callID(i), Tool: "shell",
			Args: shellArgs{place.Replace(c.Command)}})
		if err != nil {
			return nil, fmt.Errorf("%q: %w", c.Command, err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(ctx, g.program, "check", "--config", config)
	cmd.Env, cmd.Dir = []string{"HOME=" + home, "CLAWSH_HOME=" + home + "/.clawsh", "PATH=/usr/bin:/bin"}, work
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s check: %w\n%s%s", g.program, err, problems.String(), out.String())
	}
	return verdicts(out.Bytes(), len(cases))
}

type (
	shellArgs struct {
		Command string `json:"command"`
	}
	call struct {
		V    int         `json:"v"`
		Kind record.Kind `json:"kind"`
		ID   string      `json:"id"`
		Tool string      `json:"tool"`
		Args shellArgs   `json:"args"`
	}
	answer struct {
		ID      string         `json:"id"`
		Verdict record.Verdict `json:"verdict"`
	}
)

func callID(i int) string { return "call-" + strconv.Itoa(i) }

// verdicts reads the gate's answers: one for each call, in order.
func verdicts(out []byte, n int) ([]record.Verdict, error) {
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	if len(lines) != n {
		return nil, fmt.Errorf("claw-gate check answered %d of %d calls", len(lines), n)
	}
	all := make([]record.Verdict, n)
	for i, line := range lines {
		var a answer
		if err := record.DecodeOpen(line, &a); err != nil {
			return nil, fmt.Errorf("answer %d: %w", i+1, err)
		}
		if a.ID != callID(i) || a.Verdict.Decision == "" {
			return nil, fmt.Errorf("answer %d is no verdict about %s: %s", i+1, callID(i), line)
		}
		all[i] = a.Verdict
	}
	return all, nil
}
