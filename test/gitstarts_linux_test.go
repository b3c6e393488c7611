package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// startedSigns are what is said by what a looking git has started: our canary, git that is told to run what it does not
// know or an alias, and a helper of git.
var startedSigns = []string{outsideCanary, "is not a git command", "remote-curl:"}

// startable are the programs that every looking git might execute: the system's loaders, which run any file that can be
// read, git, and helpers of git.
func startable(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/lib64/ld-*.so*", "/lib/ld-*.so*", "/usr/lib/git-core/git",
		"/usr/libexec/git-core/git",
		"/usr/lib*/git-core/git-remote-http"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	return append(found, git)
}

// elfRepository makes a repository of a program that says that it runs: in a file that has drivers, and on both sides
// of a change.
func elfRepository(t *testing.T, dir string) {
	t.Helper()
	put(t, dir+"/main.go", "package main\n\nfunc main() { println(\""+outsideCanary+"\") }\n")
	build := exec.Command("go", "build", "-buildmode=pie", "-o", "a.bin", "main.go")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-ldflags=-s")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	os.Remove(dir + "/main.go")
	put(t, dir+"/.gitattributes", "*.bin diff=c filter=c merge=c\n")
	put(t, dir+"/zz", "one\n")
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-qm", "one")
	f, err := os.OpenFile(dir+"/a.bin", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("z")
	gitIn(t, dir, "commit", "-qam", "two")
	f.WriteString("z")
	put(t, dir+"/zz", "two\n")
	if err := setKeys(dir, map[string]string{"log.showSignature": "true", "alias.zz": "rev-parse --sq-quote " +
		outsideCanary,
		"remote.origin.promisor": "true", "remote.origin.url": "ext::none", "extensions.partialClone": "origin",
		"core.repositoryFormatVersion": "1", "protocol.ext.allow": "always"}); err != nil {
		t.Fatal(err)
	}
}

// starts are all the keys that name a program, with each of the programs that there are to name: those that stand in
// each other's way in repositories of their own.
func starts(t *testing.T) []trap {
	groups := map[string][]string{}
	for key, kind := range gitKeys(t) {
		if kind != "program" || key == "alias.*" {
			continue
		}
		group, _, _ := strings.Cut(key, ".")
		switch group {
		case "diff":
			group = key
		case "core", "filter", "gpg":
		default:
			group = "others"
		}
		groups[group] = append(groups[group], settled(key))
	}
	var traps []trap
	for group, keys := range groups {
		for _, value := range startable(t) {
			traps = append(traps, trap{group + " = " + value,
				func(repo string) error { return setAll(repo, keys, value) }})
		}
	}
	slices.SortFunc(traps, func(a, b trap) int { return strings.Compare(a.name, b.name) })
	return traps
}

func setAll(repo string, keys []string, value string) error {
	values := map[string]string{}
	for _, key := range keys {
		if values[key] = value; strings.HasSuffix(strings.ToLower(key), "url") {
			values[key] = "ext::" + value + " a.bin"
		}
	}
	return setKeys(repo, values)
}

// starting are commands of git that only look, as one script.
func starting(repo string) string {
	return "cd " + repo +
		"; git status; git diff zz; git diff; git log -p -1; git blame a.bin; git cat-file -p 1111111111111111111111111111111111111111"
}

// TestReadingGitStartsNothing names in a repository's settings what git itself has to execute: the system's loader,
// which runs any file that it can read, git, and its helpers. None of them is started by git that only looks.
func TestReadingGitStartsNothing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	home := t.TempDir()
	w := filepath.Join(home, "clawsh-workspace")
	setUp := exec.Command("sh", "-ec",
		`clawsh init; sed -i 's/^harmless = .*/harmless = "low"/' .clawsh/config.toml; clawsh config validate`)
	setUp.Dir, setUp.Env = home, []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	from, traps, least := filepath.Join(t.TempDir(), "r"), starts(t), 5 // so many at least must start something
	if !need.Soak() {
		nth := 0
		traps, least = slices.DeleteFunc(traps, func(trap) bool { nth++; return nth%3 != 1 }), 2
	}
	elfRepository(t, from)
	var in bytes.Buffer
	for i, p := range traps {
		repo := filepath.Join(w, fmt.Sprint("r", i+1))
		if err := os.CopyFS(repo, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		if err := p.set(repo); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		in.Write(shellCall(t, i+1, starting(fmt.Sprint("r", i+1))))
	}
	cmd := exec.Command("sh", "-c", "claw-gate | claw-exec")
	cmd.Dir, cmd.Env, cmd.Stdin = home, setUp.Env, &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(traps) {
		t.Fatalf("%d results of %d", len(lines), len(traps))
	}
	started := 0
	for i, line := range lines {
		checkStart(t, traps[i].name, line)
		free := exec.Command("sh", "-c", starting(fmt.Sprint("r", i+1)))
		free.Dir, free.Env = w, []string{"HOME=" + w, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_PAGER=cat"}
		if out, _ := free.CombinedOutput(); startedSign(string(out)) != "" {
			started++
		}
	}
	if started < least {
		t.Errorf("only %d of %d start something without a sandbox, so that they show nothing", started, len(traps))
	}
	t.Logf("without the sandbox %d of %d start something", started, len(traps))
}

func startedSign(output string) string {
	for line := range strings.Lines(output) {
		// What lies in a file that is shown says nothing.
		if slices.ContainsFunc(startedSigns, func(s string) bool { return strings.Contains(line, s) }) &&
			len(line) < 200 {
			return line
		}
	}
	return ""
}

func checkStart(t *testing.T, name string, line []byte) {
	t.Helper()
	var r record.ToolResult
	if err := record.DecodeOpen(bytes.TrimSpace(line), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict == nil || r.Verdict.Risk != record.RiskLow {
		t.Errorf("%s: it is not of low risk: %s", name, r.Error)
	}
	if sign := startedSign(r.Output + r.Error); sign != "" {
		t.Errorf("%s: git has started it: %q", name, sign)
	}
}
