package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/stage"
	"clawsh/lib/terminal"
)

// gate is the filter's state.
type gate struct {
	call   *command.Call
	config *config.Config
	force  *policy.InForce
	policy *policy.Policy // in force for the call that is decided
	signer *permit.Signer
	audit  *durable.Log
	to     string // the executor that permits are made out to; empty: that of this home
	// session are the calls that were allowed for the rest of it (sessionKey).
	session map[string]bool
	told    bool // that the audit log cannot be written
}

func filter() command.Command {
	var executor string
	return command.Command{
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&executor, "executor", "", "sign permits for the claw-exec `ID` on another host, which has accepted this gate")
		},
		Filter:  true,
		Summary: "add a verdict to tool_call records",
		Example: `claw-llm <requests.jsonl | claw-gate | claw-exec | claw-receipt | claw-mem`,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if err := checkExecutor(executor); err != nil {
				return nil, err
			}
			g, err := openGate(c)
			if err != nil {
				return nil, err
			}
			g.to = executor
			defer g.audit.Close()
			return stage.Filter(ctx, c, stage.Stage{Drain: true,
				Handlers: map[record.Kind]stage.Handler{record.KindToolCall: g.handle}})
		},
	}
}

func openGate(c *command.Call) (*gate, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	g := &gate{call: c, config: cfg, session: map[string]bool{}}
	if g.force, err = policy.NewInForce(cfg, c.Reload, c.Again()); err != nil {
		return nil, err
	}
	if g.policy, err = g.force.Policy(); err != nil {
		return nil, err
	}
	if g.signer, err = permit.LoadSigner(cfg.KeysDir()); err != nil {
		e := envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the permit key: %w", err)
		if errors.Is(err, fs.ErrNotExist) {
			e.WithHint("run: clawsh init")
		}
		return nil, e
	}
	if g.audit, err = durable.OpenLog(cfg.AuditPath(), 0o600); err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "audit.unavailable", "open the audit log: %w", err)
	}
	return g, nil
}

// handle decides about one call.
func (g *gate) handle(ctx context.Context, line record.Line, out *stage.Writer) error {
	call, err := readCall(line)
	if err != nil {
		return err
	}
	g.call.Event(command.EventToolRequested, "call_id", call.ID, "tool", call.Tool)
	v := g.decide(ctx, call)
	if v, err = g.commit(call, v); err != nil {
		return err
	}
	g.report(call, v)
	spliced, err := line.With(record.Field{Name: "verdict", Value: v})
	if err != nil {
		return err
	}
	return out.Write(spliced)
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
func (g *gate) decide(ctx context.Context, call record.ToolCall) record.Verdict {
	if err := g.refresh(); err != nil {
		return record.Verdict{Decision: record.Deny, Risk: record.RiskHigh, Rule: "policy.changed", Reason: err.Error(),
			Approval: record.ApprovalNotRequired, PolicyHash: g.policy.Hash()}
	}
	d := g.policy.DecideFor(ctx, policy.Call{ID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool, Args: call.Args})
	v := record.Verdict{Decision: record.Deny, Risk: d.Risk, Reason: d.Reason, Rule: d.Rule, Approval: record.ApprovalNotRequired, Obeyed: d.Obeyed,
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
		if d.Rule == "path.workspace" && g.idle(call) {
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

// refresh takes the policy that is in force now.
func (g *gate) refresh() error {
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

// ask asks on the terminal. No terminal, no answer in time and every failure mean no.
func (g *gate) ask(ctx context.Context, call record.ToolCall, d policy.Verdict, v record.Verdict) record.Verdict {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(g.config.Limits.ApprovalTimeoutS*float64(time.Second)))
	defer cancel()
	defer watchEstop(ctx, g.config.Home, cancel)()
	key := sessionKey(call, v)
	if g.session[key] {
		v.Approval, v.Decision = record.ApprovalSession, record.Allow
		return v
	}
	rule, words, offered := g.policy.Always(policy.Call{ID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool, Args: call.Args}, d)
	what := g.show(call)
	answers := approvals(offered)
	answer, err := terminal.Choose(ctx, prompt(call, v, what.text, answers), typed(answers), again(answers, question))
	if offered && err == nil && (answer == "a" || answer == "always") {
		var yes bool
		if yes, err = g.always(ctx, rule, words); yes {
			answer, v.PolicyHash = "y", g.policy.Hash() // the rule that was written is a part of it
		}
	}
	forever := answer == "s" || answer == "session"
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		v.Approval, v.Reason = record.ApprovalUnavailable, v.Reason+"; needs approval, but there is no terminal to ask on"
	case err != nil:
		v.Approval, v.Reason = record.ApprovalUnavailable, fmt.Sprintf("%s; needs approval, but got none: %v", v.Reason, err)
	case (forever || answer == "y" || answer == "yes") && !what.still():
		v.Approval, v.Reason = record.ApprovalRefused, v.Reason+"; the file changed during the approval question: read it again, and repeat the call"
	case forever, answer == "y", answer == "yes":
		v.Approval, v.Decision = record.ApprovalGranted, record.Allow
		if forever {
			g.session[key] = true
		}
	default:
		v.Approval, v.Reason = record.ApprovalRefused, v.Reason+"; refused by the operator"
	}
	return v
}

// sessionKey is what a yes for the session is a yes to: these very bytes, in this conversation, under this policy. A session
// is the life of this process: a conversation on the terminal has one gate.
func sessionKey(call record.ToolCall, v record.Verdict) string {
	return strings.Join([]string{call.ConversationID, call.Tool, record.HashBytes(call.Args), v.Risk, v.PolicyHash, permit.Files(v.Obeyed)}, "\x00")
}

// watchEstop cancels a question when the emergency stop is pulled. The function that it returns ends the watch.
func watchEstop(ctx context.Context, home string, cancel context.CancelFunc) func() {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				if stopped, _ := config.Estop(home); stopped {
					cancel()
				}
			}
		}
	}()
	return func() { close(done) }
}

// question is where the answer is typed.
const question = "Approve? [y/N] "

// prompt shows the whole call: what is the text of its arguments (show). Where it does not fit on the screen, its head is told again
// right above the place of the answer.
func prompt(call record.ToolCall, v record.Verdict, what string, answers []answer) string {
	text := fmt.Sprintf("\nTool request:\n  tool: %s\n  risk: %s\n  reason: %s\n%s",
		terminal.Escape(call.Tool), v.Risk, terminal.Escape(v.Reason), what)
	text += listed(answers, func(a answer) string { return a.short })
	high, wide := terminal.Size()
	if terminal.Rows(text, wide) >= high { // the place of the answer takes a row, too
		text += fmt.Sprintf("  (above: %s and %s of arguments for %s, risk %s: %s)\n", spelling.Count(terminal.Rows(what, wide), "row"), spelling.Count(len(call.Args), "byte"),
			terminal.Escape(call.Tool), v.Risk, terminal.Escape(v.Reason))
	}
	return text + question
}

// report logs the verdict.
func (g *gate) report(call record.ToolCall, v record.Verdict) {
	event := command.EventToolApproved
	if v.Decision == record.Deny {
		event = command.EventToolDenied
	}
	if v.Rule == "estop" {
		g.call.Event(command.EventEstopTriggered, "call_id", call.ID)
	}
	g.call.Event(event, "call_id", call.ID, "tool", call.Tool, "risk", v.Risk, "rule", v.Rule, "approval", v.Approval)
}
