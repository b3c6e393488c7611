package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"clawsh/lib/record"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// launch has a script interpreted in the sandbox, and answers what the interpreter asks.
func (b *Client) launch(ctx context.Context, l tool.Launch) (tool.Launched, error) {
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
	r, err := b.do(ctx, Request{Script: true, Adapt: adapt(l)}, s.theirs[:]...)
	closeAll(s.theirs[:])
	work.Wait()
	closeAll([]*os.File{s.told, s.output, s.says})
	if errors.Is(err, ErrLost) { // it was killed as well: it may not be said that it could not be run
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
		Limits: sandbox.Limits{MemoryBytes: value(l.Ask.MemoryBytes), Processes: value(l.Ask.Processes),
			CPUS: value(l.Ask.CPUSeconds)}}
}

// value is what a limit is, 0 if it is not given.
func value[T int | int64](v *T) T {
	if v == nil {
		return 0
	}
	return *v
}

// limits tells the interpreter what its programs may take, where it needs more itself.
func (b *Client) limits(l *tool.Launch) {
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

func confinement(r sandbox.Report) *record.Confinement {
	c := &record.Confinement{Kernel: r.Kernel, LandlockABI: r.LandlockABI, FilterSHA256: r.FilterHash,
		Guarantees: map[string]string{}, Missing: []string{}}
	for g, m := range r.Guarantees {
		c.Guarantees[string(g)] = m
	}
	for _, g := range r.Missing {
		c.Missing = append(c.Missing, string(g))
	}
	return c
}

// streams are the interpreter's standard files: its ends of three pipes, and ours.
type streams struct {
	theirs             [scriptPipes]*os.File
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
