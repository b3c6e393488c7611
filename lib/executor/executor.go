// Package executor runs calls of tools that a gate has permitted, and says why it does not run the others. A call runs
// if its permit is signed by an accepted gate, for exactly these bytes, under the policy in force here, not expired and
// not used before; a call that does not is a result, too. Every result is sealed.
package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/result"
	"clawsh/lib/secret"
	"clawsh/lib/tool"
)

// Executor runs one call after the other.
type Executor struct {
	// Env is what tools run in.
	Env *tool.Env
	// Unconfined is why there was no sandbox to run a program in.
	Unconfined string

	call     *command.Call
	config   *config.Config
	gates    *permit.Gates
	sealer   *permit.Sealer
	register *permit.Register
	force    *policy.InForce
	policy   *policy.Policy // in force for the call that runs
	results  *result.Store
	homes    *tool.Homes // where commands have their private homes, in use as long as this is kept
	underWay *os.File    // locked while calls may run
}

// OpenSealer loads the key with which results are sealed. A home that is older than seals gets one.
func OpenSealer(cfg *config.Config) (*permit.Sealer, error) {
	s, _, err := permit.OpenSealer(cfg.SealKeyDir(), cfg.ExecutorsDir())
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the seal key: %w", err)
	}
	return s, nil
}

// Open loads keys and policy, and announces that calls may be running, until Close. homes is nil if no tool needs them.
func Open(c *command.Call, cfg *config.Config, homes *tool.Homes) (_ *Executor, err error) {
	e := &Executor{call: c, config: cfg, homes: homes, results: &result.Store{Dir: cfg.ResultsDir()},
		Env: &tool.Env{Config: cfg, Workspace: cfg.WorkspaceDir, SelfEnv: c.Environ, Log: c.Log, Secrets: c.Secrets,
			Scratch: &tool.Scratch{}}}
	if homes != nil {
		e.Env.Scratch.Dir = homes.Dir
	}
	if _, err = permit.LoadVerifier(cfg.PermitPubPath()); err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the public permit key: %w", err).
			WithHint("run: clawsh init; if clawsh was set up here before, see what is missing: clawsh doctor")
	}
	if e.sealer, err = OpenSealer(cfg); err != nil {
		return nil, err
	}
	if e.gates, err = permit.LoadGates(cfg.PermitPubPath(), cfg.GatesDir(), e.sealer.ID()); err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the public keys of gates: %w", err)
	}
	if e.register, err = permit.OpenRegister(cfg.PermitsUsedPath()); err != nil {
		return nil, fmt.Errorf("open the list of used permits: %w", err)
	}
	if e.underWay, err = durable.Share(cfg.UnderWayPath()); err != nil {
		return nil, fmt.Errorf("announce that calls may be running: %w", err)
	}
	if e.force, err = policy.NewInForce(cfg, c.Reload, c.Again()); err != nil {
		return nil, err
	}
	if e.policy, err = e.force.Policy(); err != nil {
		return nil, err
	}
	return e, nil
}

// Close ends what was made for the tools.
func (e *Executor) Close() {
	e.Env.Scratch.Close()
	e.underWay.Close()
}

// owned are the fields that a result adds: a call that has one already is refused before anything runs.
var owned = []string{"status", "success", "output", "error", "metadata", permit.SealField, "receipt_id", "unattested"}

// outcome is what is spliced into a call to make it a result.
type outcome struct {
	status string
	tool.Result
	audit string // the id of the decision whose permit this used up, or came too late with
}

// Run runs one call, or says why not, and returns the sealed result. An error means that there is none.
func (e *Executor) Run(ctx context.Context, line record.Line) ([]byte, error) {
	for _, name := range owned {
		if _, ok := line.Field(name); ok {
			return nil, envelope.Errorf(0, "tool_call.invalid", "tool call %s already has a field %q", line.ID(), name)
		}
	}
	var call record.ToolCall
	if err := record.DecodeOpen(line.Bytes(), &call); err != nil {
		return nil, envelope.Errorf(0, "tool_call.invalid", "read tool call: %w", err)
	}
	o := e.outcome(ctx, call)
	if call.Repaired != "" {
		o.Output = "[" + record.Shorten(call.Repaired, maxRepairedBytes) + "]\n" + o.Output
	}
	var found secret.Counts
	o.Error, found = e.call.Secrets.String(o.Error)
	o.Meta.Withheld += found.Total()
	e.report(call, o)
	fields := []record.Field{{Name: "status", Value: o.status}, {Name: "success", Value: o.Success},
		{Name: "output", Value: o.Output}}
	if o.Error != "" {
		fields = append(fields, record.Field{Name: "error", Value: o.Error})
	}
	o.Meta.FinishedAt = record.Now()
	result, err := line.As(record.KindToolResult, append(fields, record.Field{Name: "metadata", Value: o.Meta})...)
	if err != nil {
		return nil, err
	}
	return e.sealer.Seal(result, o.audit)
}

// maxRepairedBytes bounds what is said about a call that was mended.
const maxRepairedBytes = 300

func denied(format string, args ...any) outcome {
	return outcome{status: record.StatusDenied, Result: tool.Result{Error: fmt.Sprintf(format, args...)}}
}

func failed(format string, args ...any) outcome {
	return outcome{status: record.StatusFailed, Result: tool.Result{Error: fmt.Sprintf(format, args...)}}
}

// outcome checks the permit and runs the tool.
func (e *Executor) outcome(ctx context.Context, call record.ToolCall) outcome {
	if call.Verdict == nil {
		return denied("denied: no verdict: the call did not pass claw-gate")
	}
	if call.Verdict.Decision != record.Allow && policy.Mistaken(call.Verdict.Rule) {
		return denied("%s", call.Verdict.Reason) // nobody forbade it: it has to be called in another way
	}
	if call.Verdict.Decision != record.Allow {
		return denied("denied: %s", call.Verdict.Reason)
	}
	with, err := e.admit(ctx, call)
	if err != nil {
		return unpermitted(call, err)
	}
	o := e.permitted(ctx, call, with)
	o.audit = call.Verdict.AuditID
	return o
}

// permitted runs the tool of a call that has a good permit, unless something has happened in between.
func (e *Executor) permitted(ctx context.Context, call record.ToolCall, with policy.Permitted) outcome {
	if stopped, why := config.Estop(e.config.Home); stopped {
		o := denied("denied: emergency stop: %s", why)
		o.Meta.CancelledReason = errEstop.Error()
		return o
	}
	if ctx.Err() != nil {
		return failed("cancelled before it started: %v", context.Cause(ctx))
	}
	t, ok := tool.Lookup(call.Tool)
	if !ok {
		return failed("there is no such tool")
	}
	ctx, cancel := e.watchEstop(ctx)
	defer cancel(nil)
	env := *e.Env
	env.ConversationID, env.Guard, env.Obeyed, env.ReadOnly = call.ConversationID, e.guard(with), with.Obeyed,
		call.Verdict.Risk == record.RiskLow
	env.Results = e.results
	if call.ConversationID != "" {
		env.Result = result.Prefix + result.ID(call.ID)
	}
	r := tool.Run(ctx, t, call.Args, &env)
	e.keep(call, r)
	if r.Meta.Sandbox == record.SandboxUnavailable {
		e.Unconfined = r.Error
	}
	status := record.StatusAllowed
	switch {
	case r.Denied:
		status = record.StatusDenied
	case !r.Success:
		status = record.StatusFailed
	}
	return outcome{status: status, Result: r}
}

// keep keeps what a call returned, without its secrets, to be read on. That it cannot be kept does not undo the call.
func (e *Executor) keep(call record.ToolCall, r tool.Result) {
	text := r.Whole
	if text == "" {
		text = r.Output
	}
	if err := e.results.Keep(call.ConversationID, call.ID, e.call.Secrets.Text(text)); err != nil {
		e.call.Log.Warn("result not kept", "event", "result_not_kept", "call_id", call.ID, "error", err.Error())
	}
}

// errEstop is the cause by which a running tool is cancelled.
var errEstop = errors.New("emergency stop")

// watchEstop returns a context that ends when the emergency stop is pulled.
func (e *Executor) watchEstop(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if stopped, _ := config.Estop(e.config.Home); stopped {
					e.call.Event(command.EventEstopTriggered)
					cancel(errEstop)
				}
			}
		}
	}()
	return ctx, cancel
}

// report logs the outcome.
func (e *Executor) report(call record.ToolCall, o outcome) {
	event := command.EventToolCompleted
	switch o.status {
	case record.StatusDenied:
		event = command.EventToolDenied
	case record.StatusFailed:
		event = command.EventToolFailed
	}
	e.call.Event(event, "call_id", call.ID, "tool", call.Tool, "duration_ms", o.Meta.DurationMS)
}
