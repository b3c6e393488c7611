// Package gate decides which calls of tools may run. The policy makes a verdict, the emergency stop overrides it, a
// person is asked where the policy says so; then it is written to the audit log, and only then signed, if the call is
// allowed.
package gate

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"clawsh/lib/approval"
	"clawsh/lib/audit"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/policy"
	"clawsh/lib/record"
)

// Gate decides about one call after the other.
type Gate struct {
	call      *command.Call
	config    *config.Config
	force     *policy.InForce
	policy    *policy.Policy // in force for the call that is decided
	signer    *permit.Signer
	audit     *audit.Log
	to        string // the executor that permits are made out to; empty: that of this home
	approvals approval.Approvals
	told      bool // that the audit log cannot be written
}

// Open loads key and policy, and opens the audit log, until Close. Permits are good for the executor of that name;
// empty is that of this home.
func Open(c *command.Call, cfg *config.Config, executor string) (_ *Gate, err error) {
	g := &Gate{call: c, config: cfg, to: executor}
	g.approvals = approval.Approvals{Asker: approval.Terminal{Colours: colours(c.Getenv)}, Adopt: g.adopt,
		Warn: c.Log.Warn}
	if g.force, err = policy.NewInForce(cfg, c.Reload, c.Again()); err != nil {
		return nil, err
	}
	if g.policy, err = g.force.Policy(); err != nil {
		return nil, err
	}
	if g.signer, err = permit.LoadSigner(cfg.KeysDir()); err != nil {
		e := envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the permit key: %w", err)
		if errors.Is(err, fs.ErrNotExist) {
			e.WithHint("run: clawsh init; if clawsh was set up here before, see what is missing: clawsh doctor")
		}
		return nil, e
	}
	if g.audit, err = audit.Open(cfg.AuditPath()); err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "audit.unavailable", "open the audit log: %w", err)
	}
	return g, nil
}

// Close closes the audit log.
func (g *Gate) Close() { g.audit.Close() }

// Decide decides about one call, and returns it with the verdict.
func (g *Gate) Decide(ctx context.Context, line record.Line) ([]byte, error) {
	call, err := readCall(line)
	if err != nil {
		return nil, err
	}
	g.call.Event(command.EventToolRequested, "call_id", call.ID, "tool", call.Tool)
	v := g.commit(call, g.decide(ctx, call))
	g.report(call, v)
	return line.With(record.Field{Name: "verdict", Value: v})
}

// readCall decodes a call and refuses one that somebody has decided about already.
func readCall(line record.Line) (record.ToolCall, error) {
	var call record.ToolCall
	if _, ok := line.Field("verdict"); ok {
		return call, envelope.Errorf(0, "verdict.smuggled", "tool call %s already has a verdict", line.ID()).
			WithHint("only claw-gate may decide; remove the verdict and send the call again")
	}
	if err := record.DecodeOpen(line.Bytes(), &call); err != nil {
		return call, envelope.Errorf(0, "tool_call.invalid", "read tool call: %w", err)
	}
	if call.ID == "" || call.Tool == "" || len(call.Args) == 0 || len(call.ID) > 200 {
		return call, envelope.Errorf(0, "tool_call.invalid", "tool call needs id, tool and args")
	}
	return call, nil
}

// decide asks the policy, the emergency stop and, where needed, a person.
func (g *Gate) decide(ctx context.Context, call record.ToolCall) record.Verdict {
	if err := g.refresh(); err != nil {
		return record.Verdict{Decision: record.Deny, Risk: record.RiskHigh, Rule: "policy.changed", Reason: err.Error(),
			Approval: record.ApprovalNotRequired, PolicyHash: g.policy.Hash()}
	}
	d := g.policy.DecideFor(ctx, asked(call))
	v := record.Verdict{Decision: record.Deny, Risk: d.Risk, Reason: d.Reason, Rule: d.Rule,
		Approval: record.ApprovalNotRequired, Obeyed: d.Obeyed,
		PolicyHash: g.policy.Hash()}
	if stopped, why := config.Estop(g.config.Home); stopped {
		return stop(v, why)
	}
	if ctx.Err() != nil {
		v.Rule, v.Reason = "cancelled", "the turn was cancelled before this call was decided"
		return v
	}
	switch d.Outcome {
	case policy.Allow:
		v.Decision = record.Allow
	case policy.Ask:
		if d.Rule == "path.workspace" && approval.Idle(g.config, call) {
			v.Decision, v.Risk, v.Rule = record.Allow, record.RiskLow, ruleIdle
			v.Reason = "the edit does not fit the file as it is, so it may only say why"
			break
		}
		v = g.ask(ctx, call, d, v)
	}
	if stopped, why := config.Estop(g.config.Home); stopped {
		return stop(v, why)
	}
	return v
}

// ruleIdle allows an edit that does not fit the file as it is: nobody is asked about what changes nothing. It is
// permitted at low risk, at which claw-exec writes nothing, should the file have changed by then.
const ruleIdle = "edit.idle"

// refresh takes the policy that is in force now.
func (g *Gate) refresh() error {
	p, err := g.force.Policy()
	if err != nil {
		return err
	}
	g.policy, g.config = p, g.force.Config()
	return nil
}

func stop(v record.Verdict, why string) record.Verdict {
	v.Decision, v.Rule, v.Reason = record.Deny, "estop", "emergency stop: "+why
	return v
}

// ask asks a person.
func (g *Gate) ask(ctx context.Context, call record.ToolCall, d policy.Verdict, v record.Verdict) record.Verdict {
	r := approval.Request{Config: g.config, Call: call, Verdict: v}
	if rule, words, ok := g.policy.Always(asked(call), d); ok {
		r.Offer = &approval.Offer{Rule: rule, Words: words}
	}
	return g.approvals.Decide(ctx, r)
}

// adopt writes a rule, and decides by it from now on.
func (g *Gate) adopt(r config.Rule) (string, error) {
	cfg := *g.config
	cfg.Written = append(slices.Clone(cfg.Written), r)
	if _, err := policy.New(&cfg, policy.OS{}); err != nil { // a rule that nobody can read would end this session
		return "", err
	}
	if err := approval.AppendRule(cfg.RulesPath(), r); err != nil {
		return "", err
	}
	err := g.refresh()
	return g.policy.Hash(), err
}

// colours tells whether a diff is shown in colours (no-color.org).
func colours(getenv func(string) string) bool {
	term := getenv("TERM")
	return getenv("NO_COLOR") == "" && term != "" && term != "dumb"
}

// asked is a call as the policy sees it.
func asked(call record.ToolCall) policy.Call {
	return policy.Call{ID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool, Args: call.Args}
}

// report logs the verdict.
func (g *Gate) report(call record.ToolCall, v record.Verdict) {
	event := command.EventToolApproved
	if v.Decision == record.Deny {
		event = command.EventToolDenied
	}
	if v.Rule == "estop" {
		g.call.Event(command.EventEstopTriggered, "call_id", call.ID)
	}
	g.call.Event(event, "call_id", call.ID, "tool", call.Tool, "risk", v.Risk, "rule", v.Rule, "approval", v.Approval)
}
