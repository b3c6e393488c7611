package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"clawsh/lib/config"
)

// The oldest goes first, a module cache as a whole, and nothing that a link leads to.
func TestSweep(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put := func(path string, age time.Duration) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	put("a/go-build/00/old", 9*time.Hour)
	put("a/go-build/00/new", time.Hour)
	put("a/go-mod/x/old", 20*time.Hour)
	put("a/go-mod/x/used", 2*time.Hour)
	put("b/npm/one", 8*time.Hour)
	put("b/npm/two", 7*time.Hour)
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a/go-build/00/link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	left := func() []string {
		var out []string
		for _, p := range []string{"a/go-build/00/old", "a/go-build/00/new", "a/go-mod/x/old", "a/go-mod/x/used", "b/npm/one", "b/npm/two"} {
			if _, err := os.Stat(filepath.Join(dir, p)); err == nil {
				out = append(out, filepath.Base(p))
			}
		}
		return out
	}
	sweep(root, 550)
	if got := left(); !slices.Equal(got, []string{"new", "old", "used", "one", "two"}) {
		t.Errorf("up to 550 bytes, left %v", got)
	}
	sweep(root, 350)
	if got := left(); !slices.Equal(got, []string{"new", "old", "used"}) {
		t.Errorf("up to 350 bytes, left %v", got)
	}
	sweep(root, 0)
	if got := left(); len(got) > 0 {
		t.Errorf("up to nothing, left %v", got)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error("what a link leads to is gone")
	}
}

// A directory that takes another's place begins anew.
func TestCacheBelongsToADirectory(t *testing.T) {
	dir := t.TempDir()
	cfg := &config.Config{Home: dir + "/home", WorkspaceDir: dir + "/ws", Sandbox: config.Sandbox{Cache: true}}
	if got := cacheDir(cfg); got != "" {
		t.Errorf("of a workspace that is not there: %s", got)
	}
	for _, d := range []string{"/ws", "/other"} {
		if err := os.Mkdir(dir+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	first := cacheDir(cfg)
	if err := os.Rename(dir+"/ws", dir+"/gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/other", dir+"/ws"); err != nil {
		t.Fatal(err)
	}
	if second := cacheDir(cfg); first == "" || second == "" || first == second {
		t.Errorf("%s, then %s", first, second)
	}
	cfg.Sandbox.Deterministic = true
	if got := cacheDir(cfg); got != "" {
		t.Errorf("deterministic, and yet %s", got)
	}
}
