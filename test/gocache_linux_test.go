package test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// warmGo is a cache of Go builds in which everything that the tasks need is built, once for all of them: a new
// workspace has an empty cache, and compiling the library anew for each would take minutes. It is kept beside the cache
// of who runs the tests.
var warmGo = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return "", err
	}
	cache := strings.TrimSpace(string(out)) + "-of-clawsh-tasks"
	paths, err := filepath.Glob("../testdata/tasks/*.txtar")
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		k, err := readTask(path)
		if err != nil || !k.isGo() {
			continue
		}
		dir, err := os.MkdirTemp("", "clawsh-warm-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		d := &desk{workspace: dir}
		if err := d.write(k.files); err != nil {
			return "", err
		}
		cmd := exec.Command("sh", "-c", "go vet ./...; go test ./...; go build ./... && go run . </dev/null || true")
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GOCACHE=" + cache, "GOFLAGS="}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return cache, nil
})

// isGo tells whether the workspace of a task is a module of Go.
func (k task) isGo() bool {
	for _, f := range k.files {
		if f.Name == "w/go.mod" {
			return true
		}
	}
	return false
}

// warm gives the workspace's cache what is built already, as if its owner had built here before.
func (d *desk) warm(t *testing.T) {
	t.Helper()
	cache, err := warmGo()
	if err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "GOCACHE="+cache)
	path := filepath.Join(d.home, "full.toml")
	if err := os.WriteFile(path, []byte("[security]\nautonomy = \"full\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := d.command("clawsh", "-C", ".", "tool", "run", "shell", "--json", `{"command":"/bin/true"}`,
		"--config", path).CombinedOutput(); err != nil {
		t.Fatalf("a first program: %v: %s", err, out)
	}
	own, err := filepath.Glob(filepath.Join(d.home, ".clawsh", "cache", "[0-9a-f]*[0-9a-f]"))
	if err != nil || len(own) != 1 {
		t.Fatalf("the workspace's cache is one of %v: %v", own, err)
	}
	err = filepath.WalkDir(cache, func(path string, e os.DirEntry, err error) error {
		to := filepath.Join(own[0], "go-build", strings.TrimPrefix(path, cache))
		if err != nil || e.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o700))
		}
		if os.Link(path, to) == nil {
			return nil
		}
		b, err := os.ReadFile(path) // the cache lies on another disk
		return errors.Join(err, os.WriteFile(to, b, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}
