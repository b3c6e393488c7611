package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// pipeGrace is how long output is still read after the program has ended, when something else keeps its pipe open.
const pipeGrace = 200 * time.Millisecond

// TreeSpec describes a program that is run as a tree: with everything that it starts.
type TreeSpec struct {
	Argv           []string  // the first one is the program, by its absolute path
	Dir            string    // working directory, "" for ours
	Env            []string  // all of it; nil is empty, never ours
	Stdin          io.Reader // nil is /dev/null
	Stdout, Stderr io.Writer // nil throws output away

	Start func(*exec.Cmd) error // starts it, as Launch does; nil is Launch
	Ended func()                // is called when it has ended, before its output is awaited
}

// errNoProgram means that a TreeSpec names nothing to run.
var errNoProgram = errors.New("run a program: no path given")

// RunTree runs a program in a session and process group of its own, and returns its exit code, 128+n if signal n ended it.
// When ctx ends, and also when the program does, everything left of its group is killed, so that nothing stays behind; when
// ctx ends, its descendants that left the group as well (on Linux). What left both the group and its parents, a daemon, is
// found by KillDescendants alone.
//
// The error is set if the program could not be started (the exit code is -1 then), or if ctx ended it: then it is ctx's
// cause. Output that something outside the group still writes pipeGrace after the end is cut off.
func RunTree(ctx context.Context, spec TreeSpec) (int, error) {
	if ctx.Err() != nil {
		return -1, context.Cause(ctx)
	}
	if len(spec.Argv) == 0 {
		return -1, errNoProgram
	}
	cmd := exec.Command(spec.Argv[0])
	cmd.Args, cmd.Dir, cmd.Env = spec.Argv, spec.Dir, spec.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = spec.Stdin, spec.Stdout, spec.Stderr
	cmd.SysProcAttr, cmd.WaitDelay = treeAttributes(), pipeGrace
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	start := spec.Start
	if start == nil {
		start = Launch
	}
	if err := start(cmd); err != nil {
		return -1, err
	}
	killed, err := wait(ctx, cmd, spec.Ended)
	var exit *exec.ExitError
	switch {
	case killed:
		err = context.Cause(ctx)
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		err = nil
	}
	return exitCode(cmd.ProcessState), err
}

// StartHelper starts a part of our own program that works for us until we end: it gets a connection as descriptor 3, no
// input and our standard error, and a session of its own. When we die, the connection ends. argv[0] is what it is called.
func StartHelper(argv, env []string, conn *os.File) error {
	cmd := exec.Command(Self())
	cmd.Args, cmd.Env, cmd.Dir = argv, env, "/"
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{conn}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}

// wait waits for the end of the program or of ctx, and leaves nothing of its group. killed tells that it was ctx's.
func wait(ctx context.Context, cmd *exec.Cmd, ended func()) (killed bool, err error) {
	pid, done := cmd.Process.Pid, make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		killTree(pid)
		close(done)
	})
	err = reapAfter(cmd, func() {
		if killed = !stop(); killed {
			<-done
		}
		killGroup(pid)
		if ended != nil {
			ended()
		}
	})
	return killed, err
}

// exitCode is -1 for a program whose end somebody else has collected.
func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
