package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEnvironmentIsAnAllowlist(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "CLAWSH_HOME=/c", "CLAWSH_API_KEY=s", "OPENAI_API_KEY=s", "LD_PRELOAD=x", "FOO=1", "bad", "AWS_SECRET=s"}
	if got := Environment(environ); !slices.Equal(got, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "CLAWSH_HOME=/c"}) {
		t.Errorf("%v", got)
	}
	if got := Environment(environ, "OPENAI_API_KEY"); !slices.Contains(got, "OPENAI_API_KEY=s") || slices.Contains(got, "AWS_SECRET=s") {
		t.Errorf("%v", got)
	}
}

func TestFindNeverLooksHere(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/claw-x", []byte("#!/bin/sh\n"), 0o755)
	t.Chdir(dir)
	for _, path := range []string{".", "", ":", "sub:."} {
		t.Setenv("PATH", path)
		if p, err := Find("claw-x"); err == nil {
			t.Errorf("PATH=%q: found %s", path, p)
		}
	}
	t.Setenv("PATH", dir)
	if p, err := Find("claw-x"); err != nil || p != dir+"/claw-x" {
		t.Errorf("%s, %v", p, err)
	}
	for _, name := range []string{"", "./claw-x", "../claw-x", dir + "/claw-x"} {
		if _, err := Find(name); err == nil {
			t.Errorf("found %q", name)
		}
	}
}

func TestStage(t *testing.T) {
	s, err := Start(t.Context(), Spec{Name: "cat", Path: "/bin/cat"})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(s.Stdin, "hello\n")
	b := make([]byte, 6)
	if _, err := io.ReadFull(s.Stdout, b); err != nil || string(b) != "hello\n" {
		t.Errorf("%q, %v", b, err)
	}
	if s.Describe() != "cat: running" {
		t.Error(s.Describe())
	}
	s.Signal(syscall.SIGKILL)
	s.Wait()
	if !strings.Contains(s.Describe(), "cat: killed by signal 9") {
		t.Error(s.Describe())
	}
	if _, err := Start(t.Context(), Spec{Name: "none", Path: "/nonexistent"}); err == nil || !strings.Contains(err.Error(), "start none") {
		t.Error(err)
	}
}

func TestStopIsGentleFirst(t *testing.T) {
	for script, want := range map[string]string{
		"cat; exit 3": "x: exit status 3",
		"trap 'exit 4' TERM; echo; while :; do read -t 0.01 x; done </dev/zero": "x: exit status",
		"trap '' TERM; echo; while :; do read -t 0.01 x; done </dev/zero":       "x: killed by signal 9",
	} {
		s, err := Start(t.Context(), Spec{Name: "x", Path: "/bin/bash", Args: []string{"-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(script, "cat") {
			s.Stdout.Read(make([]byte, 1))
		}
		s.Stop(100 * time.Millisecond)
		if !strings.Contains(s.Describe(), want) {
			t.Errorf("%s: %s, want %s", script, s.Describe(), want)
		}
	}
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
	if out, _, _ := run(t, t.Context(), "env"); strings.Contains(out, "PLANTED") {
		t.Errorf("the environment leaks: %s", out)
	}
	if out, _, _ := run(t, t.Context(), "ps -o sid= -p $$; echo $$"); len(strings.Fields(out)) != 2 || strings.Fields(out)[0] != strings.Fields(out)[1] {
		t.Errorf("no session of its own: %q", out)
	}
	if _, err := RunTree(t.Context(), TreeSpec{Argv: []string{"/nonexistent"}}); err == nil {
		t.Error("started what is not there")
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

func TestCancelKillsTheTree(t *testing.T) {
	why := errors.New("why")
	for i, script := range []string{"sleep %s", "sleep %s & sleep %s", "setsid sleep %s & wait", "(trap '' TERM INT HUP; sleep %s) & wait"} {
		marker := fmt.Sprintf("31536000.%d%d", os.Getpid(), i)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 150*time.Millisecond, why)
		start := time.Now()
		_, _, err := run(t, ctx, strings.ReplaceAll(script, "%s", marker))
		cancel()
		if !errors.Is(err, why) || time.Since(start) > 3*time.Second {
			t.Errorf("%s: %v after %s", script, err, time.Since(start))
		}
		gone(t, marker)
	}
}

func TestNothingStaysBehind(t *testing.T) {
	marker := fmt.Sprintf("31536000.%d9", os.Getpid())
	start := time.Now()
	if _, code, err := run(t, t.Context(), "sleep "+marker+" & exit 0"); code != 0 || err != nil || time.Since(start) > 3*time.Second {
		t.Errorf("%d, %v, %s", code, err, time.Since(start))
	}
	gone(t, marker)
}
