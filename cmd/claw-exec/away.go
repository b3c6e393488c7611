package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/place"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// answerGrace is how long an answer is awaited after it was given up: more than a kill takes.
const answerGrace = 3 * time.Second

// client is the filter's end of the broker.
type client struct {
	line   *line
	config *config.Config

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
	b := &client{line: l, config: cfg, waiting: map[int]chan answer{}}
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
			b.gone = errors.New("the claw-exec broker, which starts programs, has died")
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
var errLost = errors.New("the claw-exec broker died; the outcome of this call is unknown")

func (b *client) reply(r answer, ok bool) (answer, error) {
	if !ok {
		return answer{}, errLost
	}
	return r, nil
}

// away runs the tools that need what the filter has given up.
func (b *client) away(ctx context.Context, t tool.Tool, args record.Raw, env *tool.Env) tool.Result {
	r, err := b.do(ctx, ask{Tool: t.Name, Args: args, ConversationID: env.ConversationID})
	switch {
	case err != nil:
		return tool.Result{Error: fmt.Sprintf("%s: %v", t.Name, err)}
	case r.Result == nil:
		return tool.Result{Error: fmt.Sprintf("%s: %s", t.Name, r.Error)}
	}
	return *r.Result
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

func realAll(paths []string) []string {
	out := []string{}
	for _, p := range paths {
		if p != "" {
			out = append(out, filepath.Clean(p))
			if r := place.Real(p); r != filepath.Clean(p) {
				out = append(out, r)
			}
		}
	}
	return out
}
