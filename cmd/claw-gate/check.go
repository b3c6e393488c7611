package main

import (
	"context"

	"clawsh/lib/command"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

func check() command.Command {
	return command.Command{Name: "check", Access: looking, Filter: true, Envelope: "policy check",
		Summary: "say what would be decided about tool_call records, asking and signing nothing",
		Long: `Reads tool_call records on standard input and adds the verdict that the policy gives: allow, ask (a person would
be asked) or deny. Nothing is asked, signed or written to the audit log, and the emergency stop is not looked at.`,
		Example: `echo '{"v":1,"kind":"tool_call","id":"call-1","tool":"shell","args":{"command":"rm -rf /"}}' | claw-gate check`,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			p, err := policy.New(cfg, policy.OS{})
			if err != nil {
				return nil, err
			}
			handle := func(_ context.Context, line record.Line, out *stage.Writer) error { return preview(p, line, out) }
			return stage.Filter(ctx, c, stage.Stage{Handlers: map[record.Kind]stage.Handler{record.KindToolCall: handle}})
		}}
}

// preview adds the verdict of the policy alone.
func preview(p *policy.Policy, line record.Line, out *stage.Writer) error {
	call, err := readCall(line)
	if err != nil {
		return err
	}
	d := p.Decide(policy.Call{ID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool, Args: call.Args})
	v := record.Verdict{Decision: record.Deny, Risk: d.Risk, Reason: d.Reason, Rule: d.Rule, Approval: record.ApprovalNotRequired,
		PolicyHash: p.Hash(), DecidedAt: record.Now()}
	switch d.Outcome {
	case policy.Allow:
		v.Decision = record.Allow
	case policy.Ask:
		v.Decision = "ask"
	}
	spliced, err := line.With(record.Field{Name: "verdict", Value: v})
	if err != nil {
		return err
	}
	return out.Write(spliced)
}
