package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/record"
	"clawsh/lib/result"
)

// Rules of calls that are no matter of policy: arguments that no tool takes, and names that no tool has. The model is
// told what is wrong, so that it can call again.
const (
	ruleInvalid = "args.invalid"
	ruleUnknown = "tool.unknown"
)

// Mistaken tells whether a rule is about a mistake of the model, not about what may be done.
func Mistaken(rule string) bool { return rule == ruleInvalid || rule == ruleUnknown }

func invalid(err error) finding {
	return blocked(ruleInvalid, "invalid arguments: %v", err)
}

// examine finds the risk of a call: that of its arguments, each by its role, and of a tool without any that has one,
// its usual.
func (p *Policy) examine(ctx context.Context, of card.Card, raw record.Raw) finding {
	args, err := of.Decode(raw)
	if err != nil {
		return invalid(err)
	}
	f, judged := finding{}, false
	for a := range args.Judged() {
		switch next, is := p.argument(ctx, a); {
		case !is:
		case !judged:
			f, judged = next, true
		default:
			f = stricter(next, f)
		}
	}
	switch {
	case !judged:
		f = usual(of)
	case f.rule == ruleInvalid:
		f.reason += "; it takes " + of.Takes()
	}
	if of.Origin != card.Builtin { // what a tool from elsewhere says about itself never lowers its risk
		f = stricter(f, medium("tool.medium", "%s comes from %s", of.Name, of.Origin))
	}
	return f
}

// usual is what is found about a call of which no argument has a role.
func usual(of card.Card) finding {
	switch of.Risk {
	case record.RiskLow:
		return low("tool.low", "%s", of.Does)
	case record.RiskMedium:
		return medium("tool.medium", "%s", of.Does)
	}
	return high("tool.high", "%s", of.Does)
}

// argument judges an argument by its role. Some roles say nothing where it is not given.
func (p *Policy) argument(ctx context.Context, a card.Judged) (f finding, judged bool) {
	switch {
	case a.Role == card.Connect && !a.Given:
		return f, false
	case !a.Given:
		a.Text = "."
	}
	switch a.Role {
	case card.ReadResult:
		if f, is := resultOf(a.Text); is {
			return f, true
		}
		return p.path(a.Text, reading), true
	case card.Read:
		return p.path(a.Text, reading), true
	case card.Write:
		return p.layout(a.Text, p.path(a.Text, writing)), true
	case card.Address:
		return p.http(a.Text), true
	case card.Script:
		return p.script(a.Text, effortFor(ctx)), true
	case card.Connect:
		return blocked("shell.network",
			"commands have no network: there is no proxy yet that could let one reach single hosts; "+
				"to read a web page, call the http tool"), true
	}
	return blocked("tool.not_allowed", "the role %q of an argument is not known to the policy", a.Role), true
}

// resultOf judges a path that names the result of an earlier call: claw-exec opens none but the conversation's own.
func resultOf(path string) (finding, bool) {
	id, ok := strings.CutPrefix(path, result.Prefix)
	switch {
	case !ok:
		return finding{}, false
	case !result.Valid(id):
		return invalid(errors.New("path: there is no such result")), true
	}
	return low("path.result", "reads a result of this conversation"), true
}

// unknownTool is the verdict on a name that no tool has.
func (p *Policy) unknownTool(name string) Verdict {
	return Verdict{Outcome: Deny, Risk: record.RiskHigh, Rule: ruleUnknown,
		Reason: fmt.Sprintf("there is no tool %+q; there are: %s", bounded(name), strings.Join(p.tools, ", "))}
}
