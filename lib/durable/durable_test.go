package durable

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be one of several processes that append, or one whose files may not grow.
func TestMain(m *testing.M) {
	path := os.Getenv("DURABLE_TEST")
	if path == "" {
		os.Exit(m.Run())
	}
	l, err := OpenLog(path, 0o600)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv("DURABLE_FULL") != "" {
		full(l, path)
		return
	}
	for i := range 300 {
		line := fmt.Sprintf("%d %d %s", os.Getpid(), i, strings.Repeat("x", i))
		if err := l.Append([]byte(line), false); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// full appends until the file may not grow any more, and says what that was like.
func full(l *Log, path string) {
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000})
	for range 100 {
		if err := l.Append(bytes.Repeat([]byte("y"), 70), true); err != nil {
			fmt.Println("error:", err)
			return
		}
	}
	fmt.Println("no error")
}

func child(t *testing.T, path string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "DURABLE_TEST="+path), env...)
	return cmd
}

func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var cmds []*exec.Cmd
	for range 4 {
		c := child(t, path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, c)
	}
	for _, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 1200 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		var pid, n int
		var x string
		fmt.Sscan(l, &pid, &n, &x)
		if len(x) != n {
			t.Fatalf("a line is not whole: %.80q", l)
		}
	}
}

func TestFullDiskLeavesWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	out, _ := child(t, path, "DURABLE_FULL=1").CombinedOutput()
	if !strings.Contains(string(out), "error: append to") {
		t.Errorf("a full disk was not noticed: %s", out)
	}
	b, _ := os.ReadFile(path)
	if len(b) == 0 || len(b)%71 != 0 {
		t.Errorf("part of a line was left: %d bytes", len(b))
	}
}

func TestAppendNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var last string
	var torn bool
	next := func(line string) error {
		return l.AppendNext(true, func(b []byte, t bool) ([]byte, error) {
			last, torn = string(b), t
			return []byte(line), nil
		})
	}
	for _, c := range []struct {
		before, wantLast string
		wantTorn         bool
	}{{"", "", false}, {"one\ntwo\n", "two", false}, {"one\ntwo\nthr", "two", true}, {"thr", "", true}, {"\n", "", false},
		{strings.Repeat("a", 200<<10) + "\n" + strings.Repeat("b", 200<<10) + "\nc", strings.Repeat("b", 200<<10), true}} {
		os.WriteFile(path, []byte(c.before), 0o600)
		if err := next("x"); err != nil {
			t.Fatal(err)
		}
		if last != c.wantLast || torn != c.wantTorn {
			t.Errorf("behind %.20q: last %.20q torn %t", c.before, last, torn)
		}
		if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), c.before) || !strings.HasSuffix(string(b), "x\n") {
			t.Errorf("behind %.20q: %.40q", c.before, b)
		}
	}
	if err := next("y"); err != nil || last != "x" {
		t.Errorf("last %q, %v", last, err)
	}
	os.Rename(path, path+".old")
	if err := next("z"); err != nil || last != "" {
		t.Errorf("behind a file that was moved away: last %q, %v", last, err)
	}
	if err := next("two\nlines"); err == nil {
		t.Error("wrote two lines as one")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("/dev/null", dir+"/link")
	syscall.Mkfifo(dir+"/fifo", 0o600)
	for _, p := range []string{dir + "/link", dir + "/fifo", dir, dir + "/none/x", "/dev/null"} {
		if l, err := OpenLog(p, 0o600); err == nil {
			l.Close()
			t.Errorf("opened %s", p)
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/f"
	for _, text := range []string{"one", "", "three"} {
		if err := Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(path)
		info, _ := os.Stat(path)
		if string(b) != text || info.Mode().Perm() != 0o640 {
			t.Errorf("%q, %o", b, info.Mode().Perm())
		}
	}
	if err := Replace(dir+"/none/f", nil, 0o600); err == nil {
		t.Error("no directory, no error")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func BenchmarkAppendSync(b *testing.B) {
	l, err := OpenLog(filepath.Join(b.TempDir(), "log"), 0o600)
	if err != nil {
		b.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 500)
	for b.Loop() {
		if err := l.Append(line, true); err != nil {
			b.Fatal(err)
		}
	}
}
