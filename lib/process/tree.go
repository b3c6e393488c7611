package process

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// pipeGrace is how long output is still read after the program has ended, when something else keeps its pipe open.
const pipeGrace = 200 * time.Millisecond

// TreeSpec describes a program that is run as a tree: with everything that it starts. A nil Stdin is empty input, and a
// nil writer throws output away.
type TreeSpec struct {
	Argv           []string
	Dir            string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// RunTree runs a program in a session and process group of its own, and returns its exit code, 128+n if signal n ended it.
// When ctx ends, and also when the program does, everything left of its group is killed, so that nothing stays behind.
// The error is set if the program could not be started, or if ctx ended it: then it is ctx's cause.
func RunTree(ctx context.Context, spec TreeSpec) (int, error) {
	if err := context.Cause(ctx); err != nil {
		return -1, err
	}
	cmd := exec.Command(spec.Argv[0])
	cmd.Args, cmd.Dir, cmd.Env = spec.Argv, spec.Dir, spec.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = spec.Stdin, spec.Stdout, spec.Stderr
	cmd.SysProcAttr, cmd.WaitDelay = treeAttributes(), pipeGrace
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := launch(cmd); err != nil {
		return -1, err
	}
	stop := context.AfterFunc(ctx, func() { killTree(cmd.Process.Pid) })
	err := cmd.Wait()
	stop()
	killGroup(cmd.Process.Pid)
	if cause := context.Cause(ctx); cause != nil {
		return exitCode(cmd), cause
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return exitCode(cmd), err
}

func exitCode(cmd *exec.Cmd) int {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// killTree kills a process's group and, where they can be found, its descendants that have left the group. Descendants
// are stopped before they are listed, so that none can start another one meanwhile.
func killTree(pid int) {
	for range 100 {
		found := descendants(pid, nil)
		for _, p := range found {
			syscall.Kill(p, syscall.SIGSTOP)
		}
		if len(descendants(pid, nil)) == len(found) {
			for _, p := range found {
				syscall.Kill(p, syscall.SIGKILL)
			}
			break
		}
	}
	killGroup(pid)
}

func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

func descendants(pid int, seen []int) []int {
	for _, c := range children(pid) {
		seen = descendants(c, append(seen, c))
	}
	return seen
}

// KillDescendants kills everything that descends from this process, again and again until nothing is left: programs that
// left their group and whose parents have died become children of ours if we are a subreaper (Reap). pid is our own.
func KillDescendants(pid int) {
	for range 50 {
		if childless() {
			return
		}
		found := descendants(pid, nil)
		if len(found) == 0 {
			return
		}
		for _, p := range found {
			syscall.Kill(p, syscall.SIGKILL)
		}
		reap(found)
	}
}
