package test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"clawsh/test/corpus"
	"clawsh/test/mutants"
	"clawsh/test/need"
)

// canarySecret is in files outside the workspace, and in no output.
const canarySecret = "canary-7f3ad1c9"

// TestMutantsTouchNothing is an attacker's week: mutations of the hostile commands, at the level full, where only what
// is blocked is stopped, through the real gate and the real executor in the sandbox, as nobody if that can be. No file
// outside the workspace is changed, made, or shown. A few batches of them run, or those for which ATTACK_TIME suffices;
// ATTACK_SEED says where it begins: the same seed gives the same commands.
func TestMutantsTouchNothing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	more, seed := attackTime(t, need.Rounds(3, 30)), uint64(1)
	if s := os.Getenv("ATTACK_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	cases, err := corpus.Load("../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	a := newAttacked(t)
	targets := []string{"../w2/secret.txt", a.home + "/w2/secret.txt", "links/up/w2/secret.txt",
		"~/w2/secret.txt", "links/root" + a.home + "/w2/secret.txt", a.home + "/.ssh/id_ed25519",
		"$PWD/../w2/secret.txt", a.home + "/.clawsh/config.toml", "../.bashrc", "$HOME/w2/secret.txt",
		"/proc/self/cwd/../w2/secret.txt", "links/secret"}
	r := rand.New(rand.NewPCG(seed, 11))
	count, ran := 0, 0
	for batch := 0; more(batch); batch++ {
		var in bytes.Buffer
		var commands []string
		for len(commands) < 60 {
			c := cases[r.IntN(len(cases))]
			if c.File == corpus.Work {
				continue
			}
			text, _ := mutants.Mutate(r, strings.NewReplacer("{{W}}", a.workspace, "{{HOME}}",
				a.home).Replace(c.Command), targets)
			if line, ok := mayCall(len(commands)+1, text); ok {
				commands = append(commands, text)
				in.Write(line)
			}
		}
		before := a.outside(t)
		out := a.run(t, "claw-gate | claw-exec", in.Bytes())
		if got := bytes.Count(out, []byte(`"kind":"tool_result"`)); got != len(commands) {
			t.Errorf("seed %d, batch %d: %d results for %d calls", seed, batch, got, len(commands))
		}
		a.compare(t, before, out, commands)
		if t.Failed() {
			t.Fatalf("seed %d, batch %d", seed, batch)
		}
		ran += bytes.Count(out, []byte(`"status":"allowed"`))
		count += len(commands)
		a.tidy(t)
	}
	if ran == 0 {
		t.Error("none of them ran, which shows nothing")
	}
	t.Logf("seed %d: %d mutants, %d ran, nothing touched", seed, count, ran)
}

// attackTime tells whether another batch runs.
func attackTime(t *testing.T, batches int) func(batch int) bool {
	t.Helper()
	s := os.Getenv("ATTACK_TIME")
	if s == "" {
		return func(batch int) bool { return batch < batches }
	}
	long, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(long)
	return func(int) bool { return time.Now().Before(end) }
}

// attacked is a home with canaries beside a workspace full of ways out.
type attacked struct {
	uid                  int
	dir, home, workspace string
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	uid := uids()[len(uids())-1]
	dir := sharedDir(t, uid)
	a := &attacked{uid: uid, dir: dir, home: dir + "/home", workspace: dir + "/home/clawsh-workspace"}
	if out, err := exec.Command("cp", "-r", bin, dir+"/bin").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	os.Chmod(dir+"/bin", 0o755)
	a.run(t,
		`mkdir -p home; cd home; clawsh init; mkdir w2 .ssh; for f in w2/secret.txt .ssh/id_ed25519 .bashrc .profile; do echo `+canarySecret+` > $f; done
		sed -i 's/^autonomy = .*/autonomy = "full"/; s/^shell_timeout_s = .*/shell_timeout_s = 0.5/; s/^processes = .*/processes = 40/' .clawsh/config.toml`, nil)
	a.tidy(t)
	if out := a.run(t, "cat home/w2/secret.txt", nil); !bytes.Contains(out, []byte(canarySecret)) {
		t.Fatalf("the canary is not to be seen by anybody: %q", out)
	}
	a.run(t, "claw-gate | claw-exec", shellCall(t, 1, "ls")) // what the stages keep is there
	return a
}

// tidy makes the workspace as it was.
func (a *attacked) tidy(t *testing.T) {
	t.Helper()
	a.run(t, `cd home/clawsh-workspace; chmod -R u+rwx . 2>/dev/null || true; find . -mindepth 1 -delete
		mkdir -p src data logs links tmp sub .git/hooks; echo a > README.md; echo c > .git/config; echo m > src/main.go; echo 1,2 > data/a.csv
		ln -s / links/root; ln -s .. links/up; ln -s ../../w2/secret.txt links/secret; printf '#!/bin/sh\nid\n' > build.sh; chmod +x build.sh`, nil)
}

func (a *attacked) run(t *testing.T, script string, in []byte) []byte {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdin = a.dir, credential(a.uid), bytes.NewReader(in)
	cmd.Env = []string{"HOME=" + a.home, "PATH=" + a.dir + "/bin:/usr/bin:/bin", "TMPDIR=" + a.dir}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

func (a *attacked) outside(t *testing.T) map[string]string { return hashes(t, a.home, a.workspace) }

// compare finds what has changed outside the workspace, and what is shown of there.
func (a *attacked) compare(t *testing.T, before map[string]string, out []byte, commands []string) {
	t.Helper()
	after := a.outside(t)
	for name := range maps.Keys(before) {
		if after[name] != before[name] {
			t.Errorf("%s has changed, by one of %q", name, commands)
		}
	}
	for name := range maps.Keys(after) {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new, by one of %q", name, commands)
		}
	}
	for line := range bytes.Lines(out) {
		_, output, _ := bytes.Cut(line, []byte(`"status":`))
		if bytes.Contains(output, []byte(canarySecret)) {
			t.Errorf("a secret is shown: %.2000s", line)
		}
	}
}
