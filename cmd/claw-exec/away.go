package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// answerGrace is how long an answer is awaited after it was given up: more than a kill takes.
const answerGrace = 3 * time.Second

// client is the filter's end of the broker.
type client struct {
	line *line

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	gone    error
}

// startBroker starts the broker, before the filter confines itself.
func startBroker(c *command.Call, cfg *config.Config, homes string) (*client, error) {
	ours, theirs, err := process.Socketpair()
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	defer theirs.Close()
	args := []string{"broker", homes}
	if c.Global.Config != "" {
		args = append(args, "--config", c.Global.Config)
	}
	env := append(process.Environment(c.Environ, config.PathEnv(cfg, nil)...), cfg.WorkspaceEnv()...)
	if err := process.StartHelper(append([]string{"claw-exec"}, args...), env, theirs); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	l, err := newLine(ours)
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	b := &client{line: l, waiting: map[int]chan answer{}}
	go b.read()
	return b, nil
}

func (b *client) close() { b.line.conn.Close() }

// read hands the answers out.
func (b *client) read() {
	for {
		var a answer
		files, err := b.line.receive(&a)
		closeAll(files) // none are expected
		b.mu.Lock()
		if err != nil {
			b.gone = errors.New("the part of claw-exec that starts programs has ended")
			for _, ch := range b.waiting {
				close(ch)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		if ch := b.waiting[a.ID]; ch != nil {
			ch <- a
			delete(b.waiting, a.ID)
		}
		b.mu.Unlock()
	}
}

// do asks, and waits for the answer; when ctx ends it says so, and waits on for what became of it.
func (b *client) do(ctx context.Context, a ask, files ...*os.File) (answer, error) {
	ch := make(chan answer, 1)
	b.mu.Lock()
	if b.gone != nil {
		b.mu.Unlock()
		return answer{}, b.gone
	}
	b.next++
	a.ID = b.next
	b.waiting[a.ID] = ch
	b.mu.Unlock()
	if err := b.line.send(a, files...); err != nil {
		return answer{}, fmt.Errorf("ask the broker: %w", err)
	}
	select {
	case r, ok := <-ch:
		return b.reply(r, ok)
	case <-ctx.Done():
	}
	b.line.send(ask{ID: a.ID, Cancel: true})
	select {
	case r, ok := <-ch:
		return b.reply(r, ok)
	case <-time.After(answerGrace):
		return answer{}, context.Cause(ctx)
	}
}

// errLost: the broker was asked, and has ended without an answer.
var errLost = errors.New("the part of claw-exec that runs it has ended, and what it has done is unknown")

func (b *client) reply(r answer, ok bool) (answer, error) {
	if !ok {
		return answer{}, errLost
	}
	return r, nil
}

// away runs the tools that need what the filter has given up.
func (b *client) away(ctx context.Context, name string, args record.Raw, env *tool.Env) (tool.Result, bool) {
	if name != "http" && name != "memory_search" {
		return tool.Result{}, false
	}
	r, err := b.do(ctx, ask{Tool: name, Args: args, ConversationID: env.ConversationID})
	switch {
	case err != nil:
		return tool.Result{Error: fmt.Sprintf("%s: %v", name, err)}, true
	case r.Result == nil:
		return tool.Result{Error: fmt.Sprintf("%s: %s", name, r.Error)}, true
	}
	return *r.Result, true
}

// launch runs a program in the sandbox.
func (b *client) launch(ctx context.Context, l tool.Launch) (tool.Launched, error) {
	s, err := openStreams(l)
	if err != nil {
		return tool.Launched{}, err
	}
	r, err := b.do(ctx, ask{Program: &sandbox.Program{Argv: l.Argv, Dir: l.Dir, Env: l.Env}, Adapt: sandbox.Adapt{Home: l.Home, Layout: l.Ask.Layout, ReadOnly: l.ReadOnly, Alone: l.Alone, Obeyed: l.Obeyed,
		Limits: sandbox.Limits{MemoryBytes: value(l.Ask.MemoryBytes), Processes: value(l.Ask.Processes), CPUS: value(l.Ask.CPUSeconds)}}}, s.files[:]...)
	s.finish()
	if errors.Is(err, errLost) { // it was killed as well: it may not be said that it could not be run
		return tool.Launched{Code: 128 + int(syscall.SIGKILL), Killed: err.Error()}, nil
	}
	if err != nil {
		return tool.Launched{}, err
	}
	out := tool.Launched{Code: r.Exit.Code, Killed: r.Exit.Killed}
	if r.Report != nil {
		out.Engine, out.Confinement = r.Report.Engine, confinement(*r.Report)
	}
	switch {
	case r.Refused:
		return out, tool.NoSandboxError{Err: errors.New(r.Error)}
	case r.Errno != 0:
		return out, syscall.Errno(r.Errno)
	case r.Error != "":
		return out, errors.New(r.Error)
	}
	return out, nil
}

// value is what a limit is, 0 if it is not given.
func value[T int | int64](v *T) T {
	if v == nil {
		return 0
	}
	return *v
}

func confinement(r sandbox.Report) *record.Confinement {
	c := &record.Confinement{Kernel: r.Kernel, LandlockABI: r.LandlockABI, FilterSHA256: r.FilterHash, Guarantees: map[string]string{}, Missing: []string{}}
	for g, m := range r.Guarantees {
		c.Guarantees[string(g)] = m
	}
	for _, g := range r.Missing {
		c.Missing = append(c.Missing, string(g))
	}
	return c
}

// streams are a program's standard files as descriptors that can be passed: what is none gets a pipe.
type streams struct {
	files [3]*os.File
	ours  []*os.File     // ends that are closed when the program has them
	copy  sync.WaitGroup // of output
	stdin []*os.File     // our ends of input
}

func openStreams(l tool.Launch) (*streams, error) {
	s := &streams{}
	var err error
	if s.files[0], err = s.input(l.Stdin); err == nil {
		if s.files[1], err = s.output(l.Stdout); err == nil {
			if s.files[2] = s.files[1]; l.Stderr != l.Stdout {
				s.files[2], err = s.output(l.Stderr)
			}
		}
	}
	if err != nil {
		s.finish()
		return nil, fmt.Errorf("connect a program: %w", err)
	}
	return s, nil
}

func (s *streams) input(r io.Reader) (*os.File, error) {
	if f, ok := r.(*os.File); ok {
		return f, nil
	}
	if r == nil {
		f, err := os.Open(os.DevNull)
		s.ours = append(s.ours, f)
		return f, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.ours, s.stdin = append(s.ours, theirs), append(s.stdin, ours)
	go func() {
		io.Copy(ours, r)
		ours.Close()
	}()
	return theirs, nil
}

func (s *streams) output(w io.Writer) (*os.File, error) {
	if f, ok := w.(*os.File); ok {
		return f, nil
	}
	if w == nil {
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		s.ours = append(s.ours, f)
		return f, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.ours = append(s.ours, theirs)
	s.copy.Go(func() {
		io.Copy(w, ours)
		ours.Close()
	})
	return theirs, nil
}

// finish waits until all output has arrived. The program and all that it started have ended, so nobody holds a pipe.
func (s *streams) finish() {
	for _, f := range s.ours {
		if f != nil {
			f.Close()
		}
	}
	for _, f := range s.stdin {
		f.Close()
	}
	s.copy.Wait()
}

// real follows links as far as there is something.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

func realAll(paths []string) []string {
	out := []string{}
	for _, p := range paths {
		if p != "" {
			out = append(out, filepath.Clean(p))
			if r := real(p); r != filepath.Clean(p) {
				out = append(out, r)
			}
		}
	}
	return out
}
