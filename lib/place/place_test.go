package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWithin(t *testing.T) {
	long := strings.Repeat("/"+strings.Repeat("x", 200), 30)
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/a/b/c", true}, {"/a/", "/a/b", true}, {"/a", "/a/", true},
		{"/a//", "/a/./b/", true},
		{"/", "/", true}, {"/", "/a", true}, {"/a/..", "/b", true},
		{"/a", "/", false}, {"/a/b", "/a", false}, {"/a", "/ab", false}, {"/a", "/a.b", false}, {"/a", "/b/a", false},
		{"/a", "/a/../b", false}, {"/a", "/a/b/../..", false}, {"/a", "/a/b/../../ab", false}, {"/a", "/../a/b", true},
		{"/a/b", "/a/b/../b/c", true},
		{"", "", false}, {"", "/a", false}, {"/a", "", false}, {".", ".", false}, {"a", "a/b", false},
		{"/a", "a/b", false}, {"..", "/a", false}, {"~", "~/a", false},
		{"/a\xff", "/a\xff/b", true}, {"/a\xff", "/a\xfe/b", false}, {"/a\xff", "/a�/b", false},
		{"/a\x00", "/a", false},
		{"/é", "/é/x", true}, {"/é", "/e\u0301/x", false}, {"/A", "/a/b", false}, {"/a", "/a\n/b", false},
		{"/a", "/a /b", false}, {"/a", "/a\\b", false},
		{long, long + "/x", true}, {long, long + "x", false}, {long + "/x", long, false},
	} {
		if got := Within(c.dir, c.path); got != c.want {
			t.Errorf("%.40q in %.40q: %t", c.path, c.dir, got)
		}
		if name, ok := Below(c.dir, c.path); ok != c.want || ok &&
			filepath.Join(c.dir, name) != filepath.Clean(c.path) {
			t.Errorf("the name of %.40q in %.40q: %.40q, %t", c.path, c.dir, name, ok)
		}
		if c.want && !WithinFold(c.dir, c.path) {
			t.Errorf("%.40q in %.40q, but not in any letter case", c.path, c.dir)
		}
	}
	for _, c := range []struct {
		dir, path string
		want      bool
	}{{"/h/.ssh", "/h/.SSH/id", true}, {"/H/É", "/h/é/x", true}, {"/h/.ssh", "/h/.sshd", false}, {"", "/", false}} {
		if got := WithinFold(c.dir, c.path); got != c.want {
			t.Errorf("%q in %q in any letter case: %t", c.path, c.dir, got)
		}
	}
}

// FuzzWithin compares the check with the standard library's, and with what it must never be.
func FuzzWithin(f *testing.F) {
	for _, s := range []string{"/", "/a", "/a/..", "/a/../../b", "a", "", "/a\xff", "//a//b", "/a/b/"} {
		f.Add(s, "/a/b")
		f.Add("/a/b", s)
	}
	f.Fuzz(func(t *testing.T, dir, path string) {
		rel, err := filepath.Rel(dir, path)
		want := err == nil && filepath.IsLocal(rel) && filepath.IsAbs(dir) && filepath.IsAbs(path)
		if got := Within(dir, path); got != want {
			t.Errorf("%q in %q: %t, want %t", path, dir, got, want)
		}
		if !WithinFold(dir, path) && want {
			t.Errorf("%q in %q, but not in any letter case", path, dir)
		}
		if want && !Within(filepath.Dir(filepath.Clean(dir)), path) {
			t.Errorf("%q in %q, but not in the directory above", path, dir)
		}
	})
}

// scene is a directory with links of every kind.
func scene(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"ws/sub", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "out/file"), nil, 0o600)
	for name, target := range map[string]string{"ws/out": "../out", "ws/abs": dir + "/out", "ws/loop": "loop",
		"ws/a": "b", "ws/b": "a", "ws/nowhere": "gone", "ws/chain": "out",
		"ws/self": ".", "ws/\xff": "sub"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResolve(t *testing.T) {
	dir := scene(t)
	deep := strings.Repeat("/d", maxNames)
	for path, want := range map[string]string{
		"ws": "ws", "ws/sub/": "ws/sub", "ws/out": "out", "ws/abs": "out", "ws/chain/file": "out/file",
		"ws/out/new/file": "out/new/file", "ws/out/..": ".", "ws/abs/../ws/sub": "ws/sub",
		"ws/self/self/self/out": "out", "ws/new/x": "ws/new/x", "ws/\xff/x": "ws/sub/x", "ws//out//file": "out/file",
		"ws/./sub/.": "ws/sub",
		"ws/loop":    "error", "ws/loop/x": "error", "ws/a/x": "error", "ws/nowhere": "error", "ws/nowhere/x": "error",
		"ws/gone/../out": "error", "ws/loop/..": "error",
		"out/file/x": "out/file/x", "ws" + deep: "error", "ws/" + strings.Repeat("x", 3*MaxBytes): "error",
	} {
		got, err := Resolve(OS{}, dir+"/"+path)
		if want == "error" && err == nil || want != "error" && (err != nil || got != filepath.Join(dir, want)) {
			t.Errorf("%.40q: %q, %v; want %s", path, got, err, want)
		}
		if err == nil && !Within(dir, Real(dir+"/"+path)) && !strings.Contains(path, "..") {
			t.Errorf("%.40q leads out of the scene: %s", path, Real(dir+"/"+path))
		}
	}
	for _, path := range []string{"", "ws", "../x"} {
		if got, err := Resolve(OS{}, path); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}

func TestReal(t *testing.T) {
	dir := scene(t)
	for path, want := range map[string]string{"ws/out": "out", "ws/out/new/x": "out/new/x", "ws/nowhere": "ws/nowhere",
		"ws/loop": "ws/loop", "ws/a/x": "ws/a/x", "gone/": "gone"} {
		if got := Real(dir + "/" + path); got != filepath.Join(dir, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// FuzzResolve walks the scene in every way: what is told to lie in it does, by every link that the kernel follows.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"ws/out/../ws/loop", "ws/self/../out/file", "ws/abs/..", "ws/nowhere/../x", "./ws//out/",
		"ws/\xff/..", "ws/out/new/../file"} {
		f.Add(s)
	}
	dir := scene(f)
	f.Fuzz(func(t *testing.T, path string) {
		got, err := Resolve(OS{}, dir+"/"+path)
		if err != nil {
			return
		}
		info, statErr := os.Stat(dir + "/" + path)
		if statErr != nil {
			return
		}
		if at, err := os.Lstat(got); err != nil || !os.SameFile(info, at) {
			t.Errorf("%q is not what the kernel reaches by %q: %v", got, path, err)
		}
	})
}
