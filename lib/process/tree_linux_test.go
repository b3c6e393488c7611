package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a process that may die, or be given orphans.
func TestMain(m *testing.M) {
	script := os.Getenv("PROCESS_SCRIPT")
	argv := []string{"/bin/sh", "-c", script}
	switch os.Getenv("PROCESS_TEST") {
	case "":
		os.Exit(m.Run())
	case "die":
		stage, err := Start(context.Background(),
			Spec{Name: "x", Path: argv[0], Args: argv[1:], Env: os.Environ(), Stdout: os.Stdout})
		if err != nil {
			fmt.Println(err)
			return
		}
		stage.Wait()
	case "daemon":
		if err := Reap(); err != nil {
			fmt.Println(err)
		}
		code, err := RunTree(context.Background(), TreeSpec{Argv: argv, Env: os.Environ(), Stdout: &bytes.Buffer{}})
		KillDescendants(os.Getpid())
		if left := children(os.Getpid()); len(left) > 0 {
			err = fmt.Errorf("left: %v", left)
		}
		fmt.Println(code, err)
	}
}

// helper runs the test binary in the given mode and returns its output line by line.
func helper(t *testing.T, mode, script string) <-chan string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCESS_TEST="+mode, "PROCESS_SCRIPT="+script)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

func run(t *testing.T, ctx context.Context, script string) (string, int, error) {
	t.Helper()
	var out bytes.Buffer
	code, err := RunTree(ctx, TreeSpec{Argv: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: &out})
	return out.String(), code, err
}

func TestRunTree(t *testing.T) {
	for script, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 143, "cat": 0} {
		if _, code, err := run(t, t.Context(), script); code != want || err != nil {
			t.Errorf("%s: %d, %v", script, code, err)
		}
	}
	t.Setenv("PLANTED_SECRET", "s")
	if out, _, _ := run(t, t.Context(), "env"); strings.Contains(out, "PLANTED") || !strings.Contains(out, "PWD=") {
		t.Errorf("the environment leaks: %s", out)
	}
	if out, _, _ := run(t, t.Context(), "readlink /proc/self/fd/0"); out != "/dev/null\n" {
		t.Errorf("stdin is %s", out)
	}
	if out, _, _ := run(t, t.Context(), "ps -o sid= -p $$; echo $$"); len(strings.Fields(out)) != 2 ||
		strings.Fields(out)[0] != strings.Fields(out)[1] {
		t.Errorf("no session of its own: %q", out)
	}
	for _, argv := range [][]string{nil, {}, {""}, {"/nonexistent"}, {"/"}} {
		if code, err := RunTree(t.Context(), TreeSpec{Argv: argv}); err == nil || code != -1 {
			t.Errorf("%q: started what is not there, %d", argv, code)
		}
	}
}

func TestRunTreePassesInputAndDirectory(t *testing.T) {
	var out, errOut bytes.Buffer
	dir := t.TempDir()
	code, err := RunTree(t.Context(), TreeSpec{Argv: []string{"/bin/sh", "-c", "cat; pwd; echo $X >&2"}, Dir: dir,
		Env:   []string{"X=y"},
		Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &errOut})
	if code != 0 || err != nil || out.String() != "in\n"+dir+"\n" || errOut.String() != "y\n" {
		t.Errorf("%d, %v, %q, %q", code, err, out.String(), errOut.String())
	}
}

func TestRunTreeAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, err := RunTree(ctx, TreeSpec{Argv: []string{"/bin/true"}}); code != -1 ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("started although ctx had ended: %d, %v", code, err)
	}
}

// gone waits until no process has the marker in its command line.
func gone(t *testing.T, marker string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; {
		left := ""
		procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range procs {
			if b, _ := os.ReadFile(p); bytes.Contains(b, []byte(marker)) {
				left = p
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still running: %s", left)
		}
	}
}

// mark makes a time to sleep for that no other test sleeps for: it marks processes.
func mark(n int) string { return fmt.Sprintf("31536000.%d%02d", os.Getpid(), n) }

// limit is far beyond what a kill takes and far below what the programs would.
const limit = 10 * time.Second

func TestCancelKillsTheTree(t *testing.T) {
	why := errors.New("why")
	for i, script := range []string{
		"echo; sleep %s",
		"sleep %s & echo; sleep %s",
		"setsid sh -c 'echo; exec sleep %s' & wait",
		"setsid sh -c 'setsid sh -c \"echo; exec sleep %s\" & wait' & wait",
		"(trap '' TERM INT HUP; echo; sleep %s) & wait",
		"sleep %s & kill -STOP $!; echo; wait",
		"while :; do setsid sh -c 'echo; exec sleep %s' & sleep 0.001; done", // starts more while it is being killed
	} {
		marker := mark(i)
		ctx, cancel := context.WithCancelCause(t.Context())
		out := writer(func([]byte) { cancel(why) })
		start := time.Now()
		code, err := RunTree(ctx, TreeSpec{Argv: []string{"/bin/sh", "-c", strings.ReplaceAll(script, "%s", marker)},
			Stdout: out})
		if !errors.Is(err, why) || code != 128+9 || time.Since(start) > limit {
			t.Errorf("%s: %d, %v after %s", script, code, err, time.Since(start))
		}
		gone(t, marker)
	}
}

// writer is a function to be called with what is written.
type writer func([]byte)

func (f writer) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func TestNothingStaysBehind(t *testing.T) {
	for i, script := range []string{"sleep %s & exit 0", "sleep %s >/dev/null 2>&1 & exit 0",
		"(sleep %s & sleep %s &) & exit 0"} {
		marker := mark(20 + i)
		start := time.Now()
		if _, code, err := run(t, t.Context(), strings.ReplaceAll(script, "%s", marker)); code != 0 || err != nil ||
			time.Since(start) > limit {
			t.Errorf("%s: %d, %v, %s", script, code, err, time.Since(start))
		}
		gone(t, marker)
	}
}

// One that left the group and holds the pipe cannot hold us, and is killed as a descendant.
func TestDaemon(t *testing.T) {
	for n, script := range []string{"setsid sleep %s & exit 3",
		"setsid sh -c 'setsid sleep %s & exit' & wait; exit 3"} {
		marker := mark(30 + n)
		out := helper(t, "daemon", strings.ReplaceAll(script, "%s", marker))
		if got := <-out; got != "3 <nil>" {
			t.Errorf("%s: %q", script, got)
		}
		gone(t, marker)
	}
}

// What is read of /proc is all of it, also where it comes in pieces, and what is gone is an error.
func TestReadProc(t *testing.T) {
	for _, name := range []string{"/proc/self/cmdline", "/proc/filesystems"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ReadProc(name); err != nil || len(got) != len(want) {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	large := filepath.Join(t.TempDir(), "large")
	want := bytes.Repeat([]byte("0123456789"), 20_000)
	if err := os.WriteFile(large, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadProc(large); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	if _, err := ReadProc("/proc/0/status"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
