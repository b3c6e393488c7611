package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec describes a coprocess.
type Spec struct {
	Name   string   // for messages
	Path   string   // of the executable, absolute (Find)
	Args   []string // after the program's own name
	Env    []string // all of it (Environment); nil is empty, never ours
	Stdin  *os.File // inherited; the caller closes it; nil for a pipe
	Stdout *os.File // likewise
	Stderr *os.File // likewise; nil discards what the stage writes there
	Extra  *os.File // likewise, as descriptor 3; nil for none
}

// Stage is a running coprocess. It stays in our session and process group, so that it can ask questions on the
// terminal and the keyboard's signals reach it, and gets SIGTERM when we die (on Linux; elsewhere only the end of its
// input).
type Stage struct {
	// Stdin and Stdout are our ends of its pipes, or nil if a file was given. The caller closes them.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	name   string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; valid once exited is closed
}

// Start starts a coprocess. When ctx ends it is killed, at once: for a gentle end see Stop and Signal.
func Start(ctx context.Context, spec Spec) (*Stage, error) {
	cmd := exec.CommandContext(ctx, spec.Path, spec.Args...)
	cmd.Env, cmd.SysProcAttr = spec.Env, stageAttributes()
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if spec.Stderr != nil {
		cmd.Stderr = spec.Stderr
	}
	if spec.Extra != nil {
		cmd.ExtraFiles = []*os.File{spec.Extra}
	}
	s := &Stage{name: spec.Name, cmd: cmd, exited: make(chan struct{})}
	var theirs []*os.File
	in, out, err := s.pipes(spec, &theirs)
	cmd.Stdin, cmd.Stdout = in, out
	if err == nil {
		err = Launch(cmd)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		for _, c := range []io.Closer{s.Stdin, s.Stdout} {
			if c != nil {
				c.Close()
			}
		}
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go func() {
		s.err = cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// pipes makes the pipes that were not given; theirs are the ends that only the child may keep.
func (s *Stage) pipes(spec Spec, theirs *[]*os.File) (in, out *os.File, err error) {
	in, out = spec.Stdin, spec.Stdout
	if in == nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		in, s.Stdin = r, w
		*theirs = append(*theirs, r)
	}
	if out == nil {
		r, w, err := os.Pipe()
		if err != nil {
			return in, nil, err
		}
		out, s.Stdout = w, r
		*theirs = append(*theirs, w)
	}
	return in, out, nil
}

// launcher is a thread that lives as long as we do: Linux sends the death signal of a child (prctl(2),
// PR_SET_PDEATHSIG) when the thread that started it ends, not when the process does, and Go ends threads as it likes.
// It keeps no state.
var launcher = sync.OnceValue(func() chan func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// Launch starts a command from a thread that lives as long as this process, so that a death signal (Pdeathsig) comes
// when the process ends and not when the thread does.
func Launch(cmd *exec.Cmd) error {
	done := make(chan error)
	launcher() <- func() { done <- cmd.Start() }
	return <-done
}

// Exited is closed when the stage has ended.
func (s *Stage) Exited() <-chan struct{} { return s.exited }

// Wait waits until the stage has ended, and returns an *exec.ExitError if that was not with exit code 0. It may be
// called any number of times.
func (s *Stage) Wait() error {
	<-s.exited
	return s.err
}

// Signal sends a signal to the stage; one that has ended gets none.
func (s *Stage) Signal(sig os.Signal) {
	select {
	case <-s.exited:
	default:
		s.cmd.Process.Signal(sig)
	}
}

// Terminated returns the signal that ended the stage, SIGINT, SIGTERM or SIGHUP, even if it arrived before the stage
// could handle signals. It is 0 if the stage is running, or ended in another way.
func (s *Stage) Terminated() syscall.Signal {
	select {
	case <-s.exited:
	default:
		return 0
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if s.ExitCode() == 128+int(sig) {
			return sig
		}
	}
	return 0
}

// ExitCode waits until the stage has ended and returns its exit code, 128+n if signal n ended it.
func (s *Stage) ExitCode() int {
	<-s.exited
	return exitCode(s.cmd.ProcessState)
}

// Killed reports whether SIGKILL ended the stage, so that it could not report the outcome of its work.
func (s *Stage) Killed() bool {
	<-s.exited
	return s.endedBy() == syscall.SIGKILL
}

// endedBy returns the signal that ended a stage, or 0.
func (s *Stage) endedBy() syscall.Signal {
	var exit *exec.ExitError
	if errors.As(s.err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return ws.Signal()
		}
	}
	return 0
}

// Ending is how a stage ended.
type Ending int

// Endings, the worst last.
const (
	Running   Ending = iota
	Succeeded        // exit status 0
	Failed           // any other, or it could not be waited for
	Signalled        // a signal ended it
)

// Ending says how the stage has ended so far.
func (s *Stage) Ending() Ending {
	select {
	case <-s.exited:
	default:
		return Running
	}
	switch {
	case s.err == nil:
		return Succeeded
	case s.endedBy() != 0:
		return Signalled
	}
	return Failed
}

// Describe says in words how the stage ended, or that it is running.
func (s *Stage) Describe() string {
	select {
	case <-s.exited:
	default:
		return s.name + ": running"
	}
	var exit *exec.ExitError
	if errors.As(s.err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return fmt.Sprintf("%s: killed by signal %d (%s)", s.name, ws.Signal(), ws.Signal())
		}
		return fmt.Sprintf("%s: exit status %d", s.name, exit.ExitCode())
	}
	if s.err != nil {
		return fmt.Sprintf("%s: %v", s.name, s.err)
	}
	return s.name + ": exit status 0"
}

// Stop ends the stage: it closes its input and gives it the grace time to finish, then asks it with SIGTERM, then kills
// it. The error is how it ended.
func (s *Stage) Stop(grace time.Duration) error {
	if s.Stdin != nil {
		s.Stdin.Close()
	}
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t := time.NewTimer(grace)
		select {
		case <-s.exited:
			t.Stop()
			return s.err
		case <-t.C:
			s.Signal(sig)
		}
	}
	return s.Wait()
}
