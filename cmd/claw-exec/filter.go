package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"clawsh/lib/broker"
	"clawsh/lib/card"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/result"
	"clawsh/lib/secret"
	"clawsh/lib/stage"
	"clawsh/lib/tool"
)

// executor is the filter's state.
type executor struct {
	call     *command.Call
	config   *config.Config
	gates    *permit.Gates
	sealer   *permit.Sealer
	register *permit.Register
	force    *policy.InForce
	policy   *policy.Policy // in force for the call that runs
	env      *tool.Env
	// unconfined is why a program was not run for want of a sandbox.
	unconfined string
	results    *result.Store
	homes      *tool.Homes    // where commands have their private homes; nil if no tool needs them
	underWay   *os.File       // locked while calls may run
	broker     *broker.Client // starts what this process may not; nil if no tool needs it
}

func filter() command.Command {
	return command.Command{
		Filter:  true,
		Summary: "run gated tool_call records",
		Example: `claw-llm <requests.jsonl | claw-gate | claw-exec | claw-receipt | claw-mem`,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			e, err := openExecutor(c)
			if err != nil {
				return nil, err
			}
			defer e.close()
			res, err := stage.Filter(ctx, c, stage.Stage{Drain: true,
				Handlers: map[record.Kind]stage.Handler{record.KindToolCall: e.handle}})
			if err == nil && e.unconfined != "" {
				err = envelope.Errorf(envelope.ExitSandbox, "sandbox.unavailable", "%s", e.unconfined)
			}
			return res, err
		},
	}
}

// close ends what was started for the tools.
func (e *executor) close() {
	if e.broker != nil {
		e.broker.Close()
	}
	e.env.Scratch.Close()
	e.underWay.Close()
}

func openExecutor(c *command.Call) (*executor, error) {
	o, err := options(c)
	if err != nil {
		return nil, err
	}
	cfg := o.Config
	if err := cfg.CheckWorkspace(); err != nil {
		return nil, err
	}
	e := &executor{call: c, config: cfg, results: &result.Store{Dir: cfg.ResultsDir()}}
	if cfg.OffersTool(card.Needs.Starts) {
		if e.homes, err = tool.MakeHomes(); err != nil {
			return nil, err
		}
		if e.broker, err = broker.Start(o, e.homes.Dir); err != nil {
			return nil, err
		}
	}
	if _, err = permit.LoadVerifier(cfg.PermitPubPath()); err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the public permit key: %w", err).
			WithHint("run: clawsh init")
	}
	if e.sealer, err = openSealer(cfg); err != nil {
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
	e.env = &tool.Env{Config: cfg, Workspace: cfg.WorkspaceDir, SelfEnv: c.Environ, Log: c.Log, Secrets: c.Secrets,
		Scratch: &tool.Scratch{}}
	homes := ""
	if e.homes != nil {
		homes = e.homes.Dir
		e.env.Scratch.Dir = homes
	}
	if e.broker != nil {
		e.broker.Equip(e.env)
	}
	_ = os.MkdirAll(cfg.ResultsDir(), 0o700) // what cannot be kept is told when it is
	if err := c.Confine(access(cfg, homes)); err != nil {
		return nil, err
	}
	return e, nil
}

// guard asks the policy again while a call runs that was permitted.
func (e *executor) guard(with policy.Permitted) tool.Guard {
	return func(ctx context.Context, kind, dir string, argv []string) error {
		if kind == tool.GuardExec {
			return e.policy.ExecIn(ctx, dir, argv, with)
		}
		if kind == tool.GuardAlone {
			if e.policy.Alone(ctx, dir, argv) {
				return nil
			}
			return tool.ErrMayStart
		}
		if kind == tool.GuardOpenWrite && with.Risk == record.RiskLow {
			return tool.ErrReadOnly
		}
		return e.policy.Access(ctx, argv[0], kind == tool.GuardOpenWrite, with)
	}
}

// owned are the fields that a result adds: a call that has one already is refused before anything runs.
var owned = []string{"status", "success", "output", "error", "metadata", permit.SealField, "receipt_id", "unattested"}

// outcome is what is spliced into a call to make it a result.
type outcome struct {
	status string
	tool.Result
	audit string // the id of the decision whose permit this used up, or came too late with
}

// handle runs one call, or says why not.
func (e *executor) handle(ctx context.Context, line record.Line, out *stage.Writer) error {
	for _, name := range owned {
		if _, ok := line.Field(name); ok {
			return envelope.Errorf(0, "tool_call.invalid", "tool call %s already has a field %q", line.ID(), name)
		}
	}
	var call record.ToolCall
	if err := record.DecodeOpen(line.Bytes(), &call); err != nil {
		return envelope.Errorf(0, "tool_call.invalid", "read tool call: %w", err)
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
	if err == nil {
		result, err = e.sealer.Seal(result, o.audit)
	}
	if err != nil {
		return err
	}
	return out.Write(result)
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
func (e *executor) outcome(ctx context.Context, call record.ToolCall) outcome {
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

// unpermitted is the result of a call whose permit is not good. One that is only too old is still the gate's word about
// this call.
func unpermitted(call record.ToolCall, err error) outcome {
	if errors.Is(err, errUndecided) {
		o := failed("%v", err)
		o.audit = call.Verdict.AuditID
		return o
	}
	o := denied("denied: %v", err)
	o.Meta.Permit = record.PermitInvalid
	switch {
	case errors.Is(err, permit.ErrUsed):
		o.Meta.Permit = record.PermitUsed
	case errors.Is(err, permit.ErrExpired):
		o.Meta.Permit, o.audit = record.PermitExpired, call.Verdict.AuditID
	case errors.Is(err, errPolicy):
		o.audit = call.Verdict.AuditID
	}
	return o
}

// permitted runs the tool of a call that bears a good permit, unless something else has come between.
func (e *executor) permitted(ctx context.Context, call record.ToolCall, with policy.Permitted) outcome {
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
	env := *e.env
	env.ConversationID, env.Guard, env.Obeyed, env.ReadOnly = call.ConversationID, e.guard(with), with.Obeyed,
		call.Verdict.Risk == record.RiskLow
	env.Results = e.results
	if call.ConversationID != "" {
		env.Result = result.Prefix + result.ID(call.ID)
	}
	r := tool.Run(ctx, t, call.Args, &env)
	e.keep(call, r)
	if r.Meta.Sandbox == record.SandboxUnavailable {
		e.unconfined = r.Error
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
func (e *executor) keep(call record.ToolCall, r tool.Result) {
	text := r.Whole
	if text == "" {
		text = r.Output
	}
	if err := e.results.Keep(call.ConversationID, call.ID, e.call.Secrets.Text(text)); err != nil {
		e.call.Log.Warn("result not kept", "event", "result_not_kept", "call_id", call.ID, "error", err.Error())
	}
}

// admit checks that the permit is for exactly this call, and that it was not used before. It returns what it permits.
func (e *executor) admit(ctx context.Context, call record.ToolCall) (policy.Permitted, error) {
	with := policy.Permitted{Risk: call.Verdict.Risk, Obeyed: call.Verdict.Obeyed}
	now := time.Now()
	claims, err := e.gates.Verify(call.Verdict.Permit,
		permit.Claims{CallID: call.ID, ConversationID: call.ConversationID,
			Tool: call.Tool, ArgsSHA256: record.HashBytes(call.Args), Risk: call.Verdict.Risk, Decision: record.Allow,
			PolicyHash: call.Verdict.PolicyHash, AuditID: call.Verdict.AuditID,
			Obeyed: permit.Files(call.Verdict.Obeyed)},
		now)
	if err != nil {
		return with, fmt.Errorf("permit: %w", err)
	}
	if err := e.inForce(ctx, call, claims); errors.Is(err, errUndecided) {
		return with, err
	} else if err != nil {
		return with, fmt.Errorf("%w: %w", errPolicy, err)
	}
	expires, err := time.Parse(record.TimeFormat, claims.ExpiresAt)
	if err != nil {
		return with, fmt.Errorf("permit: invalid expiry time: %w", err)
	}
	if err := e.register.Use(claims.Nonce, expires, now); err != nil {
		return with, fmt.Errorf("permit: %w", err)
	}
	return with, nil
}

// errUndecided: nobody waited any more for what this host's policy says. The permit is still good, and was not used up.
var errUndecided = errors.New("cancelled before it started")

// errPolicy: the permit is the gate's, and the policy in force here does not let it count.
var errPolicy = errors.New("permit")

// inForce checks that a permit's policy is the one in force. That of another host's gate is one that was accepted with
// its key, and what this host's own policy denies, does not run for it either: only here is it known where paths lead.
func (e *executor) inForce(ctx context.Context, call record.ToolCall, claims permit.Claims) (err error) {
	if e.policy, err = e.force.Policy(); err != nil {
		return err
	}
	own := e.gates.Own(claims)
	switch {
	case own &&
		claims.PolicyHash != e.policy.Hash(): // even if somebody has accepted this home's gate as that of another
		return errors.New("it was signed under another policy than the one in force here; make the call again")
	case !own && !e.gates.Accepts(claims):
		return fmt.Errorf("its policy is not accepted here; run claw-gate keys on the host of gate %s, and claw-exec accept with its output on this one", claims.HomeID)
	}
	if own {
		return nil
	}
	d := e.policy.DecideFor(ctx, policy.Call{ID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool,
		Args: call.Args})
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUndecided, err)
	}
	if d.Outcome == policy.Deny {
		return fmt.Errorf("denied by the policy of this host: %s", d.Reason)
	}
	return nil
}

// errEstop is the cause by which a running tool is cancelled.
var errEstop = errors.New("emergency stop")

// watchEstop returns a context that ends when the emergency stop is pulled.
func (e *executor) watchEstop(ctx context.Context) (context.Context, context.CancelCauseFunc) {
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
func (e *executor) report(call record.ToolCall, o outcome) {
	event := command.EventToolCompleted
	switch o.status {
	case record.StatusDenied:
		event = command.EventToolDenied
	case record.StatusFailed:
		event = command.EventToolFailed
	}
	e.call.Event(event, "call_id", call.ID, "tool", call.Tool, "duration_ms", o.Meta.DurationMS)
}
