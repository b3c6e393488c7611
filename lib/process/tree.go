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

// TreeSpec describes a program to run as a tree, together with everything that it starts.
type TreeSpec struct {
	Argv           []string  // the first one is the program, by its absolute path
	Dir            string    // current directory, "" for ours
	Env            []string  // all of it; nil is empty, never ours
	Stdin          io.Reader // nil is /dev/null
	Stdout, Stderr io.Writer // nil discards output

	Start func(*exec.Cmd) error // starts it, as Launch does; nil is Launch
	Ended func()                // is called when it has ended, before its output is awaited
}

// errNoProgram means that a TreeSpec does not name a program.
var errNoProgram = errors.New("run a program: no path given")

// RunTree runs a program in its own session and process group, and returns its exit code, 128+n if signal n ended it.
// When the program or ctx ends, everything left of its group is killed; when ctx ends, so are descendants that left
// the group (on Linux). Only KillDescendants finds a daemon, which has left both the group and its parents.
//
// The error is not nil if the program could not be started (then the exit code is -1), or if ctx ended it: then it is
// ctx's cause. Output that something outside the group still writes pipeGrace after the end is discarded.
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

// StartHelper starts our own program again as a helper that works for us until we end. It gets a connection as
// descriptor 3, no input, our standard error, and its own session. When we die, the connection ends. argv[0] is its
// name.
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

// wait waits for the end of the program or of ctx, and kills what is left of its group. killed means that ctx ended.
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

// exitCode is -1 for a program that somebody else has reaped.
func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
