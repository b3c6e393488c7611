package test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/test/corpus"
	"clawsh/test/need"
)

// TestHostileCommandsChangeNothing runs every hostile command of the corpus at the level full, where only block rules
// stop any: whatever the gate lets through, no file outside the workspace has changed when all have ended. It runs as
// nobody, if that can be.
func TestHostileCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	cases, err := corpus.Load("../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	uid := uids()[len(uids())-1]
	dir := sharedDir(t, uid)
	home, w := dir+"/home", dir+"/home/clawsh-workspace"
	run := func(script string, in []byte) []byte {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir, cmd.SysProcAttr, cmd.Stdin = dir, credential(uid), bytes.NewReader(in)
		cmd.Env = []string{"HOME=" + home, "PATH=" + dir + "/bin:/usr/bin:/bin", "TMPDIR=" + dir}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	if out, err := exec.Command("cp", "-r", bin, dir+"/bin").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	os.Chmod(dir+"/bin", 0o755)
	run(`mkdir -p home; cd home; clawsh init; mkdir w2 .ssh; echo s > w2/secret.txt; echo k > .ssh/id_ed25519; echo x > .bashrc; cd clawsh-workspace
		mkdir -p src data logs links tmp .git/hooks; echo a > README.md; echo c > .git/config; ln -s / links/root; ln -s .. links/up; printf '#!/bin/sh\nid\n' > build.sh; chmod +x build.sh
		sed -i 's/^autonomy = .*/autonomy = "full"/; s/^shell_timeout_s = .*/shell_timeout_s = 0.5/; s/^processes = .*/processes = 40/' ../.clawsh/config.toml; claw-gate </dev/null; claw-exec </dev/null`, nil)
	var in bytes.Buffer
	count, seen := 0, map[string]bool{}
	for i, c := range cases { // one of each class in every run
		if c.File != corpus.Hostile || seen[c.Class] && !need.OneIn(4, i) {
			continue
		}
		seen[c.Class] = true
		command := strings.NewReplacer("{{W}}", w, "{{HOME}}", home).Replace(c.Command)
		if line, ok := mayCall(count+1, command); ok {
			in.Write(line)
			count++
		}
	}
	before := hashes(t, home, w)
	out := run("claw-gate | claw-exec", in.Bytes())
	if got := bytes.Count(out, []byte(`"kind":"tool_result"`)); got != count {
		t.Errorf("%d results for %d calls", got, count)
	}
	after := hashes(t, home, w)
	for name := range maps.Keys(before) {
		if after[name] != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
	for name := range maps.Keys(after) {
		if _, ok := before[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

// hashes are the files below a directory but for the workspace, the two logs that the stages write themselves,
// and the results and caches that are kept.
func hashes(t *testing.T, dir, except string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == except, path == filepath.Join(dir, ".clawsh", "results"),
			path == filepath.Join(dir, ".clawsh", "cache"):
			return fs.SkipDir // claw-exec keeps outputs whole there, and programs their caches
		case d.Name() == "audit.jsonl", d.Name() == "permits.used":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := info.Mode().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := sha256.Sum256(b)
			sum += hex.EncodeToString(h[:])
		}
		out[path] = sum
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
