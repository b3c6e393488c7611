package test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// hostileRepository makes a repository in which every key that names a program names one that leaves a canary, every
// file has every kind of driver, and each hook leaves one.
func hostileRepository(t *testing.T, dir string) {
	t.Helper()
	git := func(args ...string) string { return gitIn(t, dir, args...) }
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main")
	write("a.txt", "one\n")
	write("b.txt", "one\n")
	git("add", ".")
	git("commit", "-qm", "one")
	write("a.txt", "two\n")
	git("commit", "-qam", "two")
	git("tag", "-a", "-m", "v", "v1")
	git("branch", "other")
	write("b.txt", "changed\n")
	git("stash", "-q")
	write("b.txt", "changed again\n")
	canary := func(key string) string { return fmt.Sprintf("%s/canary.sh '%s'", dir, key) }
	write("canary.sh", "#!/bin/sh\necho \"$1\" >>"+dir+"/ran\ncat 2>/dev/null\n")
	for _, hook := range strings.Fields("post-index-change pre-auto-gc reference-transaction post-checkout fsmonitor-watchman pre-commit post-merge") {
		write(".git/hooks/"+hook, "#!/bin/sh\n"+canary("hook "+hook)+"\n")
	}
	programs, kinds := map[string]string{}, gitKeys(t)
	for key := range strings.Lines(git("help", "--config")) {
		kind := kinds[strings.TrimSpace(key)]
		if key = settled(strings.TrimSpace(key)); kind != "program" || strings.Contains(key, "<") {
			continue
		}
		if programs[key] = canary(key); strings.HasSuffix(strings.ToLower(key), "url") {
			programs[key] = "ext::" + programs[key]
		}
	}
	keys := bearable(t, dir, programs)
	settings := hostileSettings(dir, canary)
	if err := setKeys(dir, settings); err != nil {
		t.Fatal(err)
	}
	keys += len(settings)
	write("extra.cfg", "[diff]\n\texternal = "+canary("included")+"\n")
	git("config", "include.path", dir+"/extra.cfg")
	git("config", "includeIf.onbranch:main.path", dir+"/extra.cfg")
	write(".gitattributes", "a.txt diff=c filter=c merge=c\nb.txt diff=d filter=p\n")
	write(".gitmodules", "[submodule \"c\"]\n\tpath = sub\n\turl = ext::"+canary("submodule")+"\n\tupdate = !"+
		canary("update")+"\n")
	t.Logf("%d keys name a program", keys)
}

// bearable sets the keys with which git still works, and counts them: the value of another is not a program, and
// nothing runs with it.
func bearable(t *testing.T, dir string, values map[string]string) int {
	t.Helper()
	path := filepath.Join(dir, ".git", "config")
	before, err := os.ReadFile(path)
	if err == nil {
		err = setKeys(dir, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	probe := exec.Command("sh", "-c", "git status; git log -1 -p; git branch; git remote get-url origin")
	probe.Dir, probe.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	if out, _ := probe.CombinedOutput(); !bytes.Contains(out, []byte("fatal: bad ")) &&
		!bytes.Contains(out, []byte("fatal: unrecognized")) {
		return len(values)
	}
	if err := os.WriteFile(path, before, 0o644); err != nil {
		t.Fatal(err)
	}
	if len(values) == 1 {
		return 0
	}
	halves := [2]map[string]string{{}, {}}
	for i, key := range slices.Sorted(maps.Keys(values)) {
		halves[2*i/len(values)][key] = values[key]
	}
	return bearable(t, dir, halves[0]) + bearable(t, dir, halves[1])
}

// hostileSettings are settings beyond those that git lists: what makes it run the programs that others name.
func hostileSettings(dir string, canary func(string) string) map[string]string {
	return map[string]string{
		"diff.c.textconv":              canary("textconv"),
		"diff.d.command":               canary("diff.command"),
		"diff.external":                canary("diff.external"),
		"filter.c.clean":               canary("clean"),
		"filter.c.smudge":              canary("smudge"),
		"filter.p.process":             canary("process"),
		"merge.c.driver":               canary("merge"),
		"gpg.program":                  canary("gpg"),
		"gpg.ssh.program":              canary("ssh"),
		"log.showSignature":            "true",
		"status.submoduleSummary":      "true",
		"diff.submodule":               "log",
		"pager.log":                    canary("pager.log"),
		"pager.diff":                   canary("pager.diff"),
		"pager.status":                 canary("pager.status"),
		"core.fsmonitor":               canary("fsmonitor"),
		"core.hooksPath":               dir + "/.git/hooks",
		"protocol.ext.allow":           "always",
		"remote.origin.promisor":       "true",
		"extensions.partialClone":      "origin",
		"core.repositoryFormatVersion": "1",
		"column.ui":                    "always",
		"trace2.normalTarget":          dir + "/ran",
		"alias.log":                    "!" + canary("alias"),
		"alias.look":                   "!" + canary("alias"),
		"core.editor":                  canary("editor"),
		"core.sshCommand":              canary("ssh"),
		"core.alternateRefsCommand":    canary("alternates"),
		"credential.helper":            "!" + canary("credential"),
	}
}

// gitReads are commands of git that only look.
var gitReads = []string{"git status", "git status -v -v", "git status --porcelain=v2 --ignored", "git diff",
	"git diff --cached", "git diff HEAD~1", "git diff --stat", "git diff --binary", "git diff --submodule=log",
	"git diff -- a.txt", "git diff --check", "git diff --exit-code",
	"git log", "git log -p", "git log -p -m --all", "git log --stat", "git log -S two", "git log -G two",
	"git log -L 1,1:a.txt", "git log --format=%G?%GK", "git log --follow a.txt", "git log --oneline --graph",
	"git log -p --word-diff",
	"git show", "git show HEAD", "git show v1", "git show HEAD:a.txt", "git show --stat", "git show --format=%GS",
	"git shortlog -sn HEAD", "git blame a.txt", "git blame -w -C b.txt", "git branch -av", "git branch --contains HEAD",
	"git tag -n3", "git tag --format='%(contents)' -l",
	"git remote -v", "git remote get-url origin", "git rev-parse HEAD", "git rev-list --all --objects",
	"git ls-files -s", "git ls-files -m -o", "git ls-files -d -t", "git ls-tree -r HEAD", "git cat-file -p HEAD",
	"git cat-file -p HEAD:a.txt", "git describe --always --dirty", "git describe --all",
	"git reflog", "git reflog -p", "git name-rev HEAD", "git merge-base HEAD other", "git show-ref", "git grep two",
	"git grep -p two HEAD", "git count-objects -v", "git stash list", "git stash show", "git --no-pager diff",
	"git cat-file -t HEAD",
	"git cat-file -p 1111111111111111111111111111111111111111", "git show 1111111111111111111111111111111111111111",
	"command git diff"}

// TestReadingGitRunsNothing runs what is deemed reading in a repository whose settings name a program wherever they
// can: at full, where no call is low, none of them runs, and at the middle way neither.
func TestReadingGitRunsNothing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, way := range []string{`autonomy = "full"`, `autonomy = "supervised"` + "\n" + `harmless = "low"`} {
		home := t.TempDir()
		w := filepath.Join(home, "clawsh-workspace")
		env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
		setUp := exec.Command("sh", "-ec", `clawsh init; cat > .clawsh/way; sed -i -e '/^harmless = /d' -e '/^autonomy = /{r .clawsh/way
			d}' .clawsh/config.toml; rm .clawsh/way; clawsh config validate`)
		setUp.Dir, setUp.Env, setUp.Stdin = home, env, strings.NewReader(way+"\n")
		if out, err := setUp.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		hostileRepository(t, w)
		os.Remove(w + "/ran")
		var in bytes.Buffer
		for i, command := range gitReads {
			in.Write(shellCall(t, i+1, command))
		}
		cmd := exec.Command("sh", "-c", "claw-gate | claw-exec")
		cmd.Dir, cmd.Env, cmd.Stdin = home, env, &in
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		succeeded := 0
		for line := range bytes.Lines(out) {
			var r record.ToolResult
			if err := record.DecodeOpen(bytes.TrimSpace(line), &r); err != nil {
				t.Fatal(err)
			}
			if r.Status == record.StatusDenied {
				t.Errorf("%s: %s", r.Args, r.Error)
			}
			if r.Success {
				succeeded++
			}
		}
		if ran, err := os.ReadFile(w + "/ran"); err == nil {
			t.Errorf("%s: git has run programs of the repository:\n%s", way, ran)
		}
		if succeeded < 25 {
			t.Errorf("%s: only %d of the commands have shown anything", way, succeeded)
		}
		ranWithout(t, w)
	}
}

// ranWithout shows that the canaries can run: the same commands, without us.
func ranWithout(t *testing.T, w string) {
	t.Helper()
	for _, command := range gitReads {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = w, []string{"HOME=" + w, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_PAGER=cat"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%s: %.100s", command, bytes.ReplaceAll(out, []byte(w), nil))
		}
	}
	b, _ := os.ReadFile(w + "/ran")
	kinds := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		kinds[line] = true
	}
	if len(kinds) < 5 {
		t.Errorf("only these canaries run without a sandbox, so that they show nothing: %v", kinds)
	}
	t.Logf("without the sandbox %d kinds of canary run", len(kinds))
}

// shellCall is the line of a call of the shell tool.
func shellCall(t testing.TB, n int, command string) []byte {
	t.Helper()
	line, ok := mayCall(n, command)
	if !ok {
		t.Fatalf("%q is no JSON text", command)
	}
	return line
}

// mayCall is shellCall for what JSON may not be able to carry.
func mayCall(n int, command string) ([]byte, bool) {
	args, err := record.Encode(map[string]string{"command": command})
	if err != nil {
		return nil, false
	}
	line, err := record.Encode(record.ToolCall{V: record.Version, Kind: record.KindToolCall,
		ID: "call-" + strconv.Itoa(n), ConversationID: "conv-1", Tool: "shell", Args: args})
	return append(line, '\n'), err == nil
}
