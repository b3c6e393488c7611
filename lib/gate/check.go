package gate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Checker judges calls by the policy alone, and counts what it would change.
type Checker struct {
	// Silent has it count, and return nothing.
	Silent bool

	policy  *policy.Policy
	changes Summary
}

// NewChecker returns one that judges by the policy of a configuration.
func NewChecker(cfg *config.Config) (*Checker, error) {
	p, err := policy.New(cfg, policy.OS{})
	return &Checker{policy: p}, err
}

// Call returns a call with the verdict of the policy alone.
func (k *Checker) Call(ctx context.Context, line record.Line) ([]byte, error) {
	call, err := readCall(line)
	if err != nil {
		return nil, err
	}
	v, err := k.judge(ctx, call, nil)
	if err != nil || k.Silent {
		return nil, err
	}
	return line.With(record.Field{Name: "verdict", Value: v})
}

// Result returns the call that an old result was, with what would be decided now.
func (k *Checker) Result(ctx context.Context, line record.Line) ([]byte, error) {
	var old record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &old); err != nil {
		return nil, envelope.Errorf(0, "tool_result.invalid", "read tool result: %w", err)
	}
	if old.Tool == "" || len(old.Args) == 0 {
		return nil, envelope.Errorf(0, "tool_result.invalid", "tool result needs tool and args")
	}
	call := record.ToolCall{V: record.Version, Kind: record.KindToolCall, ID: old.ID,
		ConversationID: old.ConversationID, TurnID: old.TurnID, TS: old.TS, Tool: old.Tool, Args: old.Args}
	v, err := k.judge(ctx, call, old.Verdict)
	if err != nil || k.Silent {
		return nil, err
	}
	call.Verdict = &v
	b, err := record.Encode(call)
	if err != nil || old.Verdict == nil {
		return b, err
	}
	made, err := record.Parse(b)
	if err != nil {
		return nil, err
	}
	return made.With(record.Field{Name: "was",
		Value: was{old.Verdict.Decision, old.Verdict.Risk, old.Verdict.Rule, old.Verdict.Approval}})
}

// judge decides about a call and counts it. What was cancelled says nothing about the policy.
func (k *Checker) judge(ctx context.Context, call record.ToolCall, old *record.Verdict) (record.Verdict, error) {
	v := k.verdict(ctx, call)
	if ctx.Err() != nil {
		return v, context.Cause(ctx)
	}
	k.count(v, old)
	return v, nil
}

// was is what was decided about a call when it came.
type was struct {
	Decision string `json:"decision"`
	Risk     string `json:"risk"`
	Rule     string `json:"rule"`
	Approval string `json:"approval"`
}

func (k *Checker) verdict(ctx context.Context, call record.ToolCall) record.Verdict {
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

// Summary is what a policy makes of a log.
type Summary struct {
	Calls    int      `json:"calls"`
	Same     int      `json:"same"`
	Milder   int      `json:"milder"`   // it would be allowed, or only asked
	Stricter int      `json:"stricter"` // it would be asked, or denied
	New      int      `json:"new"`      // nobody has decided about it yet
	Changes  []Change `json:"changes"`
}

// Change is one kind of change, and how many calls it is about.
type Change struct {
	Was   string `json:"was"`
	Now   string `json:"now"`
	Rule  string `json:"rule"`
	Calls int    `json:"calls"`
}

// decisions in the order of their strictness.
var decisions = []string{record.Allow, "ask", record.Deny}

// count compares what would be decided with what was. A call that a person was to be asked about was asked, whatever
// came of it, and so was one that the gate let run unasked, since it could change nothing, where the policy asks.
func (k *Checker) count(now record.Verdict, old *record.Verdict) {
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
	i := slices.IndexFunc(k.changes.Changes, func(c Change) bool {
		return now.Rule == c.Rule && c.Was == before && c.Now == now.Decision
	})
	if i < 0 {
		k.changes.Changes = append(k.changes.Changes, Change{Was: before, Now: now.Decision, Rule: now.Rule})
		i = len(k.changes.Changes) - 1
	}
	k.changes.Changes[i].Calls++
}

// Summary is what the policy would change of the calls so far.
func (k *Checker) Summary() Summary {
	s := k.changes
	if s.Changes == nil {
		s.Changes = []Change{}
	}
	slices.SortStableFunc(s.Changes, func(a, b Change) int { return b.Calls - a.Calls })
	return s
}

// WriteText writes the totals, and a line for each kind of change.
func (s Summary) WriteText(w io.Writer) error {
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
