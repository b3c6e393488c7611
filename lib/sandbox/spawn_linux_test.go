package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func spawnFor(t *testing.T, cmd *exec.Cmd, limits ...limit) (output string, err error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	err = spawn(cmd, noDomain, limits, last{})
	w.Close()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	out.ReadFrom(r)
	err = cmd.Wait()
	return out.String(), err
}

// What os/exec gives a program, a program that we start ourselves has too, and its errors are the same.
func TestSpawnIsLikeExec(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		if err := os.WriteFile(dir+"/"+name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	text, closed := write("text", "neither this nor that\n", 0o755), write("closed", "#!/bin/sh\n", 0o644)
	lost, loop := write("lost", "#!/none/such\n", 0o755), dir+"/loop"
	os.Symlink("loop", loop)
	show := `echo "$0:$*:$A"; pwd; ls /proc/self/fd | wc -l; grep -E '^(SigIgn|SigBlk|SigCgt)' /proc/self/status; ulimit -n`
	for _, c := range []struct {
		argv []string
		dir  string
		env  []string
	}{
		{argv: []string{"/bin/sh", "-c", show, "a", "b c", ""}, dir: dir, env: []string{"A=1", "B=2", "A=3"}},
		{argv: []string{"/bin/sh", "-c", "exit 7"}},
		{argv: []string{"/bin/sh", "-c", "kill -9 $$"}},
		{argv: []string{"/bin/sh", "-c", "cat; echo end"}},
		{argv: []string{text}},
		{argv: []string{closed}},
		{argv: []string{lost}},
		{argv: []string{loop}},
		{argv: []string{dir}},
		{argv: []string{dir + "/none"}},
		{argv: []string{"/bin/true"}, dir: dir + "/none"},
		{argv: []string{"/bin/true"}, dir: text},
		{argv: []string{"/bin/true", strings.Repeat("x", 3<<20)}},
		{argv: []string{"/bin/true", "a\x00b"}},
		{argv: []string{"/bin/true"}, env: []string{"A=\x00"}},
		{argv: []string{"/bin/t\x00rue"}},
	} {
		run := func(start func(*exec.Cmd) (string, error)) (string, error) {
			cmd := exec.Command(c.argv[0])
			cmd.Args, cmd.Dir, cmd.Env, cmd.SysProcAttr = c.argv, c.dir, append(c.env, "PATH=/bin:/usr/bin"),
				&syscall.SysProcAttr{Setsid: true}
			return start(cmd)
		}
		want, wantErr := run(func(cmd *exec.Cmd) (string, error) {
			out, err := cmd.CombinedOutput()
			return string(out),
				err
		})
		got, err := run(func(cmd *exec.Cmd) (string, error) { return spawnFor(t, cmd) })
		if got != want || cause(err) != cause(wantErr) {
			t.Errorf("%.100q in %q: %q, %v; want %q, %v", c.argv, c.dir, got, err, want, wantErr)
		}
	}
}

// cause is what is told of an error: the kernel's, or how the program ended.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	if err != nil && strings.Contains(err.Error(), "NUL") {
		return syscall.EINVAL.Error()
	}
	return fmt.Sprint(err)
}

func TestSpawnSetsLimits(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "ulimit -n; ulimit -d; ulimit -Hd")
	out, err := spawnFor(t, cmd, limit{unix.RLIMIT_NOFILE, syscall.Rlimit{Cur: 33, Max: 33}},
		limit{unix.RLIMIT_DATA, syscall.Rlimit{Cur: 100 << 20, Max: 200 << 20}})
	if err != nil || out != "33\n102400\n204800\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := spawnFor(t, exec.Command("/bin/true"), limit{-1, syscall.Rlimit{}}); !errors.Is(err,
		syscall.EINVAL) {
		t.Errorf("a limit that cannot be set: %q, %v", out, err)
	}
}

// A program that could not be confined must not run.
func TestSpawnFailsClosed(t *testing.T) {
	made := t.TempDir() + "/made"
	cmd := exec.Command("/bin/touch", made)
	if err := spawn(cmd, 1<<20, nil, last{}); !errors.Is(err, syscall.EBADF) && !errors.Is(err, syscall.EPERM) &&
		!errors.Is(err, syscall.ENOSYS) {
		t.Errorf("%v", err)
	}
	cmd = exec.Command("/bin/touch", made)
	cmd.Stdin = strings.NewReader("x")
	if err := spawn(cmd, noDomain, nil, last{}); !errors.Is(err, errNoFile) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("it ran")
	}
}

// The child uses our stack and memory: whatever else happens meanwhile, nothing of it comes to harm.
func TestSpawnBesideMuchElse(t *testing.T) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for kept := [][]byte{}; ; kept = append(kept, make([]byte, 1<<14)) {
				select {
				case <-done:
					return
				default:
					if len(kept) > 100 {
						kept = nil
						runtime.GC()
					}
				}
			}
		})
	}
	var starts sync.WaitGroup
	for i := range 8 {
		starts.Go(func() {
			for n := range 25 {
				want, path := fmt.Sprintf("%d.%d\n", i, n), "/bin/echo"
				if n%5 == 4 {
					path = "/none/such"
				}
				out, err := spawnFor(t, exec.Command(path, strings.TrimSpace(want)))
				if n%5 == 4 && !errors.Is(err, syscall.ENOENT) || n%5 != 4 && (err != nil || out != want) {
					t.Errorf("%q, %v; want %q", out, err, want)
				}
			}
		})
	}
	starts.Wait()
	close(done)
	wg.Wait()
}
