package broker

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/place"
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
		if err := os.WriteFile(path, make([]byte, 64<<10), 0o600); err != nil {
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
		for _, p := range []string{"a/go-build/00/old", "a/go-build/00/new", "a/go-mod/x/old", "a/go-mod/x/used",
			"b/npm/one", "b/npm/two"} {
			if _, err := os.Stat(filepath.Join(dir, p)); err == nil {
				out = append(out, filepath.Base(p))
			}
		}
		return out
	}
	sweep(root, 380<<10, time.Now())
	if got := left(); !slices.Equal(got, []string{"new", "old", "used", "one", "two"}) {
		t.Errorf("up to 380 KiB, left %v", got)
	}
	sweep(root, 300<<10, time.Now())
	if got := left(); !slices.Equal(got, []string{"new", "old", "used"}) {
		t.Errorf("up to 300 KiB, left %v", got)
	}
	sweep(root, 0, time.Now())
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
	info, err := os.Stat(dir + "/ws")
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	id := fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	if sum := sha256.Sum256([]byte(place.Real(dir+"/ws") + "\x00" +
		config.Mark(dir+"/ws", id))); filepath.Base(first) != fmt.Sprintf("%x", sum[:12]) {
		t.Errorf("%s does not know when the directory was made, and the next one may get its inode", first)
	}
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

// What no builder makes does not keep the sweep from its work, nor cost others their caches.
func TestSweepOfHostileCaches(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string, bytes int, at time.Time) {
		t.Helper()
		path = filepath.Join(dir, path)
		must(os.MkdirAll(filepath.Dir(path), 0o700))
		must(os.WriteFile(path, make([]byte, bytes), 0o600))
		must(os.Chtimes(path, at, at))
	}
	now := time.Now()
	write("good/npm/x", 64<<10, now.Add(-time.Hour))
	write("sparse/npm/x", 0, now)
	must(os.Truncate(dir+"/sparse/npm/x", 1<<30))
	write("locked/npm/d/x", 256<<10, now.Add(-2*time.Hour))
	must(os.Chmod(dir+"/locked/npm/d", 0))
	write("future/npm/line\nbreak", 256<<10, now.AddDate(50, 0, 0))
	must(os.MkdirAll(dir+"/links", 0o700))
	must(os.Symlink("../good", dir+"/links/npm"))
	root, err := os.OpenRoot(dir)
	must(err)
	defer root.Close()
	deepen(t, root, "deep")
	sweep(root, 200<<10, now)
	for path, want := range map[string]bool{"good/npm/x": true, "sparse/npm/x": true, "locked/npm": false,
		"future/npm": false, "deep/npm": false, "deep/.swept": false} {
		if _, err := os.Lstat(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("%s is left: %v", path, err == nil)
		}
	}
	sweep(root, 0, now)
	for _, d := range []string{"good", "links", "sparse"} {
		if left, err := os.ReadDir(filepath.Join(dir, d)); len(left) > 0 || err != nil {
			t.Errorf("left of %s: %v %v", d, left, err)
		}
	}
}

// deepen makes more directories in each other than could be gone through from the top again and again.
func deepen(t *testing.T, root *os.Root, name string) {
	t.Helper()
	const piece, pieces = 100, 60
	if err := root.MkdirAll(name+"/npm/end", 0o700); err != nil {
		t.Fatal(err)
	}
	for range pieces {
		below := name + "/new" + strings.Repeat("/d", piece)
		if err := root.MkdirAll(below, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := root.Rename(name+"/npm", below+"/d"); err != nil {
			t.Fatal(err)
		}
		if err := root.Rename(name+"/new", name+"/npm"); err != nil {
			t.Fatal(err)
		}
	}
}
