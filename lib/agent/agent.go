// Package agent is the loop at work: it makes the loop of the configuration and of what siblings know, runs a turn for
// each message, takes orders and signals meanwhile, and takes up what is edited in between.
package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/conversation"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/result"
	"clawsh/lib/sibling"
	"clawsh/lib/stage"
	"clawsh/lib/terminal"
	"clawsh/lib/turn"
)

// Options are what was typed.
type Options struct {
	turn.Options
	// Control is the descriptor that the parent process gives orders by; 0 if there is none.
	Control int
}

// Run runs a turn for each user record of the input.
func (o *Options) Run(ctx context.Context, c *command.Call) (command.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := o.Check(c.Changed); err != nil {
		return nil, err
	}
	r := newRunner(c, stop)
	go r.signals()
	go r.orders(o.Control)
	l, err := o.prepare(ctx, c, r)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, errNoInput) {
		return command.Records(), nil
	}
	if err != nil {
		return nil, err
	}
	r.ready(l)
	defer recoverCalls(ctx, c)()
	if cfg, err := c.Config(); err == nil && o.NoSave {
		defer func() { _ = (&result.Store{Dir: cfg.ResultsDir()}).Remove(l.ConversationID) }()
	}
	defer l.Close()
	res, err := stage.Filter(ctx, c, stage.Stage{Text: textUser,
		Handlers: map[record.Kind]stage.Handler{record.KindUser: r.handle}})
	var gone *outputGone
	if errors.As(err, &gone) {
		err = nil
	}
	if err == nil {
		err = command.Exit(r.code)
	}
	return res, err
}

// errNoInput is why nothing was prepared.
var errNoInput = errors.New("there is no input")

// empty tells that there is no input, once that is known, so that nothing is started for none. Who drives us has a
// message in mind, and a conversation that is named has to be found whatever is said in it.
func (o *Options) empty(ctx context.Context, c *command.Call) bool {
	if o.Control > 0 || o.Conversation != "" || o.Latest {
		return false
	}
	in, first := bufio.NewReader(c.Stdin), make(chan error, 1)
	c.Stdin = in
	go func() {
		_, err := in.Peek(1)
		first <- err
	}()
	select {
	case err := <-first:
		return err == io.EOF
	case <-ctx.Done():
		return true
	}
}

// textUser makes a user record of a message that was piped as text.
func textUser(text string) ([]byte, error) {
	return record.Encode(record.User{V: record.Version, Kind: record.KindUser, ID: record.NewID("msg-"),
		Content: strings.TrimRight(text, "\n")})
}

// prepare builds the loop: what it needs to know is asked of the siblings that own it, at the same time as claw-llm and
// claw-mem are started. Without any input that is errNoInput.
func (o *Options) prepare(ctx context.Context, c *command.Call, r *runner) (*loop.Loop, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	lo, siblings, err := o.around(c, cfg, r)
	if err != nil {
		return nil, err
	}
	r.config, r.options = cfg, o
	if o.empty(ctx, c) {
		return nil, errNoInput
	}
	tools := make(chan error, 1)
	go func() { tools <- o.tools(ctx, siblings, cfg, lo) }()
	err = o.resume(ctx, siblings, lo, resumed*lo.Budget.Tokens)
	l := loop.New(*lo)
	if err == nil {
		err = l.Warm(ctx)
	}
	err = errors.Join(err, <-tools)
	l.Tools = lo.Tools
	if err != nil {
		l.Kill()
		return nil, err
	}
	return l, nil
}

// around is the loop but for its conversation and its tools, as the configuration says.
func (o *Options) around(c *command.Call, cfg *config.Config, r *runner) (*loop.Options, *sibling.Programs, error) {
	if err := cfg.CheckWorkspace(); err != nil {
		return nil, nil, err
	}
	c.Event(command.EventWorkspacePath, "path", cfg.WorkspaceDir)
	lo, err := o.resolve(cfg, c)
	if err != nil {
		return nil, nil, err
	}
	siblings := sibling.New(cfg, c.Environ, os.Stderr).At(terminal.Session())
	lo.Starter, lo.Emit, lo.Check = siblings, r.emit, r.check
	lo.Facts = facts(cfg, lo.MaxToolRounds, !o.NoTools && lo.MaxToolRounds > 0)
	if !o.NoProject {
		lo.Project = func() (loop.Project, error) {
			p, err := loop.ReadProject(cfg)
			p.Text = c.Secrets.Text(p.Text)
			return p, err
		}
	}
	if o.Control > 0 {
		lo.Shown = r.shown
	}
	if lo.Ephemeral = o.NoSave; !o.NoSave {
		lo.Turns, lo.Waiting = cfg.TurnsDir(), waiting(c)
		lo.Stored = func() string { return signature(cfg.Memory.Path) }
		lo.Seen = lo.Stored()
	}
	lo.Events = o.Events
	lo.Reload = func(ctx context.Context, id string) (conversation.Conversation, error) {
		found, err := load(ctx, siblings, resumed*lo.Budget.Tokens, "--conversation", id)
		return found.Conversation, err
	}
	return lo, siblings, nil
}
