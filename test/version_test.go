package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/lib/command"
)

// TestEveryProgramNamesItsCommit: version, commit and the commit's date, never the time of the build, are in every
// program.
func TestEveryProgramNamesItsCommit(t *testing.T) {
	t.Parallel()
	commit, date := stamped(t)
	dir := bin
	if commit != "" { // whatever GOFLAGS says of the machine that tests
		dir = t.TempDir()
		build := exec.Command("go", "build", "-buildvcs=true", "-o", dir+"/", "clawsh/cmd/...")
		build.Env = append(os.Environ(), append(trusting, "CGO_ENABLED=0")...)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	for _, name := range binaries(t) {
		program := filepath.Join(dir, name)
		out, err := exec.Command(program, "--version", "--output-format", "json").Output()
		var answer struct{ Data command.Build }
		if err == nil {
			err = json.Unmarshal(out, &answer)
		}
		v := answer.Data
		if err != nil || v.App != name || v.Version != command.Version || v.Commit != commit || v.Date != date {
			t.Errorf("%s: %v: %s; want commit %q of %q", name, err, out, commit, date)
		}
		out, err = exec.Command(program, "--version").Output()
		if err != nil || string(out) != name+" "+v.String()+"\n" ||
			!strings.Contains(v.String(), date[:min(10, len(date))]) {
			t.Errorf("%s --version: %v: %q", name, err, out)
		}
	}
}

// trusting has git look at a repository of another owner, as a checkout for tests may be.
var trusting = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}

// stamped is the commit that go build writes into programs here, and its time: none in a source archive, nor in a
// linked work tree, where go does not look.
func stamped(t *testing.T) (commit, date string) {
	t.Helper()
	if info, err := os.Stat("../.git"); err != nil || !info.IsDir() {
		return "", ""
	}
	log := exec.Command("git", "-C", "..", "log", "-1", "--format=%H %cI")
	log.Env = append(os.Environ(), trusting...)
	out, err := log.Output()
	if err != nil {
		t.Fatalf("git log: %v", err)
	}
	commit, date, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		t.Fatal(err)
	}
	return commit, at.UTC().Format(time.RFC3339)
}
