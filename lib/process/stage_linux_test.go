package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/test/need"
)

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
	if s.Describe() != "cat: running" || s.Ending() != Running {
		t.Error(s.Describe())
	}
	select {
	case <-s.Exited():
		t.Error("exited")
	default:
	}
	s.Signal(syscall.SIGKILL)
	<-s.Exited()
	var exit *exec.ExitError
	if first, again := s.Wait(), s.Wait(); !errors.As(first, &exit) || again != first {
		t.Errorf("%v, %v", first, again)
	}
	s.Signal(syscall.SIGKILL) // harmless
	if !strings.Contains(s.Describe(), "cat: killed by signal 9") {
		t.Error(s.Describe())
	}
	if _, err := Start(t.Context(), Spec{Name: "none", Path: "/nonexistent"}); err == nil ||
		!strings.Contains(err.Error(), "start none") {
		t.Error(err)
	}
}

func TestStopIsGentleFirst(t *testing.T) {
	need.Program(t, "bash")
	for _, c := range []struct {
		script string
		grace  time.Duration
		want   string
		ending Ending
	}{
		{"echo; cat; exit 3", limit, "x: exit status 3", Failed},
		{"echo; exit 0", limit, "x: exit status 0", Succeeded},
		{"trap 'exit 4' TERM; echo; while :; do read -t 0.01 x; done </dev/zero", time.Second, "x: exit status 4",
			Failed},
		{"trap '' TERM; echo; while :; do read -t 0.01 x; done </dev/zero", 50 * time.Millisecond,
			"x: killed by signal 9 (killed)", Signalled},
	} {
		s, err := Start(t.Context(), Spec{Name: "x", Path: "/bin/bash", Args: []string{"-c", c.script}})
		if err != nil {
			t.Fatal(err)
		}
		s.Stdout.Read(make([]byte, 1)) // its trap is set
		s.Stop(c.grace)
		if s.Describe() != c.want || s.Ending() != c.ending {
			t.Errorf("%s: %s (%d), want %s (%d)", c.script, s.Describe(), s.Ending(), c.want, c.ending)
		}
	}
}

// Stages that are joined by kernel pipes need us no more, and end one behind the other.
func TestJoinedStages(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	first, err := Start(t.Context(), Spec{Name: "one", Path: "/bin/sh", Args: []string{"-c", "sed s/a/b/"},
		Env: []string{"PATH=/bin:/usr/bin"}, Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Start(t.Context(), Spec{Name: "two", Path: "/bin/cat", Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close()
	if first.Stdout != nil || second.Stdin != nil {
		t.Error("a file that was given has a pipe, too")
	}
	io.WriteString(first.Stdin, "a\n")
	first.Stdin.Close()
	if out, err := io.ReadAll(second.Stdout); string(out) != "b\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Error(err)
	}
}

// say runs a script as a stage and returns what it says.
func say(t *testing.T, script string) string {
	t.Helper()
	s, err := Start(t.Context(), Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(s.Stdout)
	s.Wait()
	return string(out)
}

func TestStageIsOneOfUs(t *testing.T) {
	t.Setenv("PLANTED_SECRET", "s")
	if out := say(t, "/usr/bin/env"); strings.Contains(out, "PLANTED") || !strings.Contains(out, "PWD=") {
		t.Errorf("without an environment it got ours: %s", out)
	}
	sid, _ := unix.Getsid(0)
	if got, want := strings.Fields(say(t, "/bin/cat /proc/self/stat")),
		fmt.Sprint(unix.Getpgrp(), " ", sid); len(got) < 6 || got[4]+" "+got[5] != want {
		t.Errorf("group and session are %s, want %s", got, want)
	}
	secret, err := os.Create(t.TempDir() + "/descriptor")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	if out := say(t, "ls -l /proc/self/fd"); !strings.Contains(out, "0 -> pipe:") ||
		strings.Contains(out, secret.Name()) {
		t.Errorf("it inherits descriptors: %q", out)
	}
}

func TestCancelKillsStage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Spec{Name: "x", Path: "/bin/sh",
		Args: []string{"-c", "trap '' TERM; echo; while :; do :; done"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Stdout.Read(make([]byte, 1))
	cancel()
	if err := s.Wait(); err == nil || s.Describe() != "x: killed by signal 9 (killed)" {
		t.Errorf("%v, %s", err, s.Describe())
	}
}

// A stage that we leave behind, by the worst of deaths, is told to finish.
func TestStageIsToldOfOurDeath(t *testing.T) {
	out := helper(t, "die",
		"trap 'echo finished; exit' TERM; echo started; kill -KILL $PPID; for i in $(seq 500); do sleep 0.01; done; echo nobody told")
	for _, want := range []string{"started", "finished"} {
		if got := <-out; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The end of the thread that asked for the stage is not our death.
func TestStageOutlivesThread(t *testing.T) {
	started := make(chan *Stage)
	var thread int
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		thread = unix.Gettid()
		s, err := Start(t.Context(), Spec{Name: "cat", Path: "/bin/cat"})
		if err != nil {
			t.Error(err)
		}
		started <- s
	}()
	s := <-started
	if s == nil {
		return
	}
	for end := time.Now().Add(limit); unix.Tgkill(os.Getpid(), thread, 0) == nil &&
		thread != os.Getpid(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the thread does not end")
		}
	}
	io.WriteString(s.Stdin, "x")
	if n, err := s.Stdout.Read(make([]byte, 1)); n != 1 {
		t.Errorf("%v, %s", err, s.Describe())
	}
	s.Stop(limit)
}
