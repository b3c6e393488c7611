package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/stage"
	"clawsh/lib/terminal"
)

func check() command.Command {
	summary := false
	return command.Command{Name: "check", Access: looking, Envelope: "policy check",
		Summary: "show how the policy would decide tool calls, new or old, without asking or signing",
		Long: `Reads tool_call records from standard input and adds the verdict of the policy: allow, ask (a person would be asked) or
deny. It asks, signs and logs nothing, and ignores the emergency stop.

A tool_result record, from an old log, becomes its call again, with the verdict as it would be now and the old decision
in the field was. Other records pass through. With --summary, it writes only the calls whose decision would change.`,
		Example: "claw-mem export | claw-gate check --summary",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&summary, "summary", false, "report only what the policy would change")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			p, err := policy.New(cfg, policy.OS{})
			if err != nil {
				return nil, err
			}
			k := &checker{policy: p, silent: summary}
			s := stage.Stage{Handlers: map[record.Kind]stage.Handler{record.KindToolCall: k.call,
				record.KindToolResult: k.result}}
			if !summary {
				return c.Collect(func(c *command.Call) (command.Result, error) { return stage.Filter(ctx, c, s) })
			}
			for _, kind := range record.KindsWith(0) {
				if s.Handlers[kind] == nil {
					s.Handlers[kind] = func(context.Context, record.Line, *stage.Writer) error { return nil }
				}
			}
			quiet := *c
			quiet.Stdout = io.Discard
			if _, err := stage.Filter(ctx, &quiet, s); err != nil {
				return k.summary(), err
			}
			return k.summary(), nil
		}}
}

// checker judges calls and counts what changes.
type checker struct {
	policy  *policy.Policy
	silent  bool
	changes checkSummary
}

// call adds the verdict of the policy alone.
func (k *checker) call(ctx context.Context, line record.Line, out *stage.Writer) error {
	call, err := readCall(line)
	if err != nil {
		return err
	}
	v := k.verdict(ctx, call)
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was cancelled says nothing about the policy
	}
	k.count(v, nil)
	if k.silent {
		return nil
	}
	spliced, err := line.With(record.Field{Name: "verdict", Value: v})
	if err != nil {
		return err
	}
	return out.Write(spliced)
}

// result makes the call that an old result was, with what would be decided now.
func (k *checker) result(ctx context.Context, line record.Line, out *stage.Writer) error {
	var old record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &old); err != nil {
		return envelope.Errorf(0, "tool_result.invalid", "read tool result: %w", err)
	}
	if old.Tool == "" || len(old.Args) == 0 {
		return envelope.Errorf(0, "tool_result.invalid", "tool result needs tool and args")
	}
	call := record.ToolCall{V: record.Version, Kind: record.KindToolCall, ID: old.ID,
		ConversationID: old.ConversationID, TurnID: old.TurnID, TS: old.TS, Tool: old.Tool, Args: old.Args}
	v := k.verdict(ctx, call)
	if ctx.Err() != nil {
		return context.Cause(ctx) // what was cancelled says nothing about the policy
	}
	k.count(v, old.Verdict)
	if k.silent {
		return nil
	}
	call.Verdict = &v
	b, err := record.Encode(call)
	if err != nil {
		return err
	}
	made, err := record.Parse(b)
	if err != nil || old.Verdict == nil {
		return errors.Join(err, out.Write(b))
	}
	spliced, err := made.With(record.Field{Name: "was",
		Value: was{old.Verdict.Decision, old.Verdict.Risk, old.Verdict.Rule, old.Verdict.Approval}})
	if err != nil {
		return err
	}
	return out.Write(spliced)
}

// was is what was decided about a call when it came.
type was struct {
	Decision string `json:"decision"`
	Risk     string `json:"risk"`
	Rule     string `json:"rule"`
	Approval string `json:"approval"`
}

func (k *checker) verdict(ctx context.Context, call record.ToolCall) record.Verdict {
	d := k.policy.DecideFor(ctx, asked(call))
	v := record.Verdict{Decision: record.Deny, Risk: d.Risk, Reason: d.Reason, Rule: d.Rule,
		Approval: record.ApprovalNotRequired, Obeyed: d.Obeyed,
		PolicyHash: k.policy.Hash(), DecidedAt: record.Now()}
	switch d.Outcome {
	case policy.Allow:
		v.Decision = record.Allow
	case policy.Ask:
		v.Decision = "ask"
	}
	return v
}

// checkSummary is what a policy makes of a log.
type checkSummary struct {
	Calls    int           `json:"calls"`
	Same     int           `json:"same"`
	Milder   int           `json:"milder"`   // it would be allowed, or only asked
	Stricter int           `json:"stricter"` // it would be asked, or denied
	New      int           `json:"new"`      // nobody has decided about it yet
	Changes  []checkChange `json:"changes"`
}

// checkChange is one kind of change, and how many calls it is about.
type checkChange struct {
	Was   string `json:"was"`
	Now   string `json:"now"`
	Rule  string `json:"rule"`
	Calls int    `json:"calls"`
}

// decisions in the order of their strictness.
var decisions = []string{record.Allow, "ask", record.Deny}

// count compares what would be decided with what was. A call that a person was to be asked about was asked, whatever
// came of it, and so was one that the gate let run unasked, since it could change nothing, where the policy asks.
func (k *checker) count(now record.Verdict, old *record.Verdict) {
	k.changes.Calls++
	if old == nil {
		k.changes.New++
		return
	}
	before := old.Decision
	if old.Approval != record.ApprovalNotRequired && old.Approval != "" || old.Rule == ruleIdle {
		before = "ask"
	}
	a, b := slices.Index(decisions, before), slices.Index(decisions, now.Decision)
	switch {
	case a == b:
		k.changes.Same++
		return
	case b < a:
		k.changes.Milder++
	default:
		k.changes.Stricter++
	}
	i := slices.IndexFunc(k.changes.Changes, func(c checkChange) bool {
		return now.Rule == c.Rule && c.Was == before && c.Now == now.Decision
	})
	if i < 0 {
		k.changes.Changes = append(k.changes.Changes, checkChange{Was: before, Now: now.Decision, Rule: now.Rule})
		i = len(k.changes.Changes) - 1
	}
	k.changes.Changes[i].Calls++
}

func (k *checker) summary() checkSummary {
	s := k.changes
	if s.Changes == nil {
		s.Changes = []checkChange{}
	}
	slices.SortStableFunc(s.Changes, func(a, b checkChange) int { return b.Calls - a.Calls })
	return s
}

// WriteText writes the totals, and a line for each kind of change.
func (s checkSummary) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s: %d unchanged, %d stricter, %d more permissive, %d not decided before\n",
		spelling.Count(s.Calls, "call"), s.Same, s.Stricter, s.Milder, s.New); err != nil || len(s.Changes) == 0 {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "calls\twas\tnow\trule")
	for _, c := range s.Changes {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", c.Calls, terminal.Escape(c.Was), c.Now,
			terminal.Escape(strings.TrimSpace(c.Rule)))
	}
	return t.Flush()
}
