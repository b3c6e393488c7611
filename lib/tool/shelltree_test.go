package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alive tells whether a process runs; zombies do not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !errors.Is(err, os.ErrNotExist)
	}
	rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
	return !strings.HasPrefix(rest, " Z") && !strings.HasPrefix(rest, " X")
}

// assertGone waits until the processes whose ids are in files pid* of the workspace have ended.
func assertGone(t *testing.T, env *Env, count int) {
	t.Helper()
	files, _ := filepath.Glob(env.Config.WorkspaceDir + "/pid*")
	if len(files) != count {
		t.Errorf("%d processes were started, want %d", len(files), count)
	}
	for _, f := range files {
		b, _ := os.ReadFile(f)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		must(t, err)
		for deadline := time.Now().Add(3 * time.Second); alive(pid); {
			if time.Now().After(deadline) {
				t.Errorf("process %d of %s is left", pid, f)
				syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		os.Remove(f)
	}
}

const tree = `/bin/sh -c 'echo $$ > pid1; sleep 100 & echo $! > pid2; sh -c "echo \$\$ > pid3; sleep 100; true" & wait' | cat; echo no`

func TestShellTimeoutKillsTheTree(t *testing.T) {
	env := testEnv(t)
	limit := 0.5
	start := time.Now()
	r := call(t, env, "shell", command{tree, &limit})
	if r.Success || !strings.HasPrefix(r.Error, "timed out after 0.5 s; with timeout_s it may run for up to ") ||
		!r.Meta.TimedOut || strings.Contains(r.Output, "no") || time.Since(start) > 3*time.Second {
		t.Errorf("after %v: %+v", time.Since(start), r)
	}
	assertGone(t, env, 3)
	env.Config.Limits.ShellTimeoutS = 0.2
	for _, src := range []string{"while :; do :; done", "while [[ 1 ]]; do x=1; done", "/bin/sleep 100",
		"sleep 100 | sleep 100", "cat <<< x | sleep 100",
		"trap 'sleep 100' EXIT; sleep 100"} {
		start := time.Now()
		if r := sh(t, env, src); r.Success || r.Output != "" || time.Since(start) > 3*time.Second {
			t.Errorf("%s: after %v %+v", src, time.Since(start), r)
		}
	}
}

func TestShellCancelKillsTheTree(t *testing.T) {
	env := testEnv(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for {
			if b, _ := os.ReadFile(env.Config.WorkspaceDir + "/pid3"); len(b) > 0 {
				cancel(errors.New("emergency stop"))
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	raw, _ := recordEncode(command{Command: tree})
	r := Run(ctx, bind(runCommand), raw, env)
	if r.Success || r.Error != "emergency stop" || r.Meta.CancelledReason != "emergency stop" || r.Meta.TimedOut {
		t.Errorf("%+v", r)
	}
	assertGone(t, env, 3)
}

func TestShellLeavesNothingBehind(t *testing.T) {
	env := testEnv(t)
	r := sh(t, env, `/bin/sh -c 'sleep 100 >/dev/null 2>&1 & echo $! > pid1; sleep 100 & echo $! > pid2; echo done'`)
	if !r.Success || r.Output != "done\n" {
		t.Errorf("%+v", r)
	}
	assertGone(t, env, 2)
}
