package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"clawsh/lib/command"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// interpret takes over a process that was started as the interpreter of a script, and does not return then.
func interpret(args []string) {
	starter, err := sandbox.EnterInterpreter(args)
	if err == nil && starter == nil {
		return
	}
	if err == nil {
		err = tool.InterpretFor(os.Stdin, os.Stderr, func(s tool.Script) tool.Host {
			starter.Memory, starter.Files, starter.Reads = s.Memory, s.Files, s.Reads()
			return tool.Host{Output: os.Stdout, Ended: starter.Ended, Start: func(cmd *exec.Cmd, alone bool) error {
				err := starter.Start(cmd, alone)
				if errors.Is(err, sandbox.ErrAlone) {
					return tool.NoSandboxError{Err: err}
				}
				return err
			}}
		})
	}
	command.End("interpreter", err)
}

// launch has a script interpreted in the sandbox, and answers what the interpreter asks.
func (b *client) launch(ctx context.Context, l tool.Launch) (tool.Launched, error) {
	b.limits(&l)
	s, err := openStreams()
	if err != nil {
		return tool.Launched{}, err
	}
	var out tool.Launched
	var work sync.WaitGroup
	work.Go(func() { io.Copy(l.Output, s.output) })
	work.Go(func() {
		out.Serve(ctx, l, s.told, s.says)
		io.Copy(io.Discard, s.says)
	})
	r, err := b.do(ctx, ask{Script: true, Adapt: adapt(l)}, s.theirs[:]...)
	closeAll(s.theirs[:])
	work.Wait()
	closeAll([]*os.File{s.told, s.output, s.says})
	if errors.Is(err, errLost) { // it was killed as well: it may not be said that it could not be run
		out.Killed = err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Code, out.Killed, out.Made = r.Exit.Code, r.Exit.Killed, r.Exit.Made
	if r.Report != nil {
		out.Engine, out.Confinement = r.Report.Engine, confinement(*r.Report)
	}
	switch {
	case r.Refused:
		return out, tool.NoSandboxError{Err: errors.New(r.Error)}
	case r.Error != "":
		return out, fmt.Errorf("start the interpreter: %s", r.Error)
	}
	return out, nil
}

func adapt(l tool.Launch) sandbox.Adapt {
	return sandbox.Adapt{Home: l.Home, Layout: l.Ask.Layout, ReadOnly: l.Script.ReadOnly, Obeyed: l.Obeyed,
		Limits: sandbox.Limits{MemoryBytes: value(l.Ask.MemoryBytes), Processes: value(l.Ask.Processes), CPUS: value(l.Ask.CPUSeconds)}}
}

// limits tells the interpreter what its programs may take, where it needs more itself.
func (b *client) limits(l *tool.Launch) {
	c := b.config.Sandbox
	l.Script.Bare = b.config.Security.Sandbox == sandbox.Off
	if l.Script.Bare {
		return
	}
	memory := c.MemoryBytes
	if asked := value(l.Ask.MemoryBytes); asked > 0 {
		memory = min(memory, asked)
	}
	if memory < sandbox.InterpreterMemory {
		l.Script.Memory = memory
	}
	if c.OpenFiles < sandbox.InterpreterFiles {
		l.Script.Files = c.OpenFiles
	}
}

// streams are the interpreter's standard files: its ends of three pipes, and ours.
type streams struct {
	theirs             [3]*os.File
	told, output, says *os.File
}

func openStreams() (s *streams, err error) {
	s = &streams{}
	var all []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			all = append(all, r, w)
		}
		return r, w
	}
	s.theirs[0], s.told = pipe()
	s.output, s.theirs[1] = pipe()
	s.says, s.theirs[2] = pipe()
	if err != nil {
		closeAll(all)
		return nil, fmt.Errorf("connect an interpreter: %w", err)
	}
	return s, nil
}
