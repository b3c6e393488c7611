package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// Bounds of one rule: its own time, and what it may say. Calls are bounded themselves; a rule is written by who owns
// the configuration, so that its memory is bounded by its time alone.
const (
	ruleTime    = 100 * time.Millisecond
	ruleResults = 2
)

// rule is one of the user's own, compiled.
type rule struct {
	config.Rule
	code *gojq.Code
}

// compileRules compiles the user's rules. They see neither the environment nor files nor other input: only the call.
func compileRules(rules []config.Rule) ([]rule, error) {
	var out []rule
	var errs []error
	for _, r := range rules {
		q, err := gojq.Parse(r.When)
		var code *gojq.Code
		if err == nil {
			code, err = gojq.Compile(q)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("security.rules: %s: when: %v", r.Name, err))
			continue
		}
		out = append(out, rule{r, code})
	}
	return out, errors.Join(errs...)
}

// CheckRules compiles a configuration's rules and holds each to its examples: calls as JSON, with tool and args. It
// returns everything that is wrong.
func CheckRules(cfg *config.Config, resolver Resolver) error {
	rules, err := compileRules(cfg.OwnRules())
	errs := []error{err}
	plain := *cfg
	plain.Security.Rules, plain.Written = nil, nil
	p, err := New(&plain, resolver)
	if err != nil {
		return err
	}
	for _, r := range rules {
		for _, want := range []bool{true, false} {
			examples, key := r.Match, "match"
			if !want {
				examples, key = r.NotMatch, "not_match"
			}
			for i, example := range examples {
				if err := p.example(r, example, want); err != nil {
					errs = append(errs, fmt.Errorf("security.rules: %s: %s %d: %w", r.Name, key, i+1, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (p *Policy) example(r rule, text string, want bool) error {
	var call struct {
		Tool           string     `json:"tool"`
		Args           record.Raw `json:"args"`
		ConversationID string     `json:"conversation_id"`
		Workspace      string     `json:"workspace"` // else, and of the risk, what is so now
		Risk           string     `json:"risk"`
		Directory      string     `json:"directory"`
		Confined       record.Raw `json:"confined"`
	}
	if err := record.Decode([]byte(text), &call); err != nil {
		return fmt.Errorf("not a call: %w", err)
	}
	if len(call.Args) == 0 {
		call.Args = record.Raw("{}")
	}
	c := Call{Tool: call.Tool, Args: call.Args, ConversationID: call.ConversationID}
	input, err := p.input(c, p.builtin(context.Background(), c))
	if err == nil && call.Workspace != "" {
		input["workspace"] = call.Workspace
	}
	if err == nil && call.Risk != "" {
		input["risk"] = call.Risk
	}
	if err == nil && call.Directory != "" {
		input["directory"] = call.Directory
	}
	if err == nil && len(call.Confined) > 0 {
		input["confined"], err = record.JQValue(call.Confined)
	}
	holds, err := r.holds(input, err)
	switch {
	case err != nil:
		return err
	case holds && !want:
		return errors.New("the rule matches it")
	case !holds && want:
		return errors.New("the rule does not match it")
	}
	return nil
}

// input is what an expression is over.
func (p *Policy) input(c Call, v Verdict) (map[string]any, error) {
	args, err := record.JQValue(c.Args)
	if err != nil {
		return nil, err
	}
	raw, err := record.Encode(p.confined)
	if err != nil {
		return nil, err
	}
	confined, err := record.JQValue(raw)
	if err != nil {
		return nil, err
	}
	return map[string]any{"tool": c.Tool, "args": args, "conversation_id": c.ConversationID, "risk": v.Risk,
		"rule": v.Rule, "reason": v.Reason,
		"decision": v.Outcome.String(), "autonomy": p.autonomy, "workspace": p.root, "directory": p.directory,
		"confined": confined, "now": record.Now()}, nil
}

// holds evaluates a rule: anything but one true or false is an error.
func (r rule) holds(input map[string]any, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ruleTime)
	defer cancel()
	it := r.code.RunWithContext(ctx, input)
	var results []any
	for len(results) < ruleResults {
		v, ok := it.Next()
		if !ok {
			break
		}
		if err, isErr := v.(error); isErr {
			return false, fmt.Errorf("it cannot be evaluated: %v", err)
		}
		results = append(results, v)
	}
	if len(results) != 1 {
		return false, errors.New("it yields no result, or more than one: want true or false")
	}
	holds, ok := results[0].(bool)
	if !ok {
		return false, errors.New("it yields neither true nor false")
	}
	return holds, nil
}

// byUserRules applies the user's rules to what the built-in ones decided: deny beats ask beats allow, and a rule that
// fails denies. ask also makes a question of what supervision denies as high risk; allow answers questions, whoever
// asks them. Nothing lifts a block, or anything at readonly.
func (p *Policy) byUserRules(c Call, v Verdict) Verdict {
	if len(p.rules) == 0 {
		return v
	}
	input, err := p.input(c, v)
	first := map[string]*rule{}
	for i := range p.rules {
		r := &p.rules[i]
		holds, err := r.holds(input, err)
		if err != nil {
			return Verdict{Outcome: Deny, Risk: v.Risk, Rule: "rule." + r.Name,
				Reason: fmt.Sprintf("the rule %s failed: %v", r.Name, err)}
		}
		if holds && outdated(r.Rule) {
			if v.Outcome == Ask {
				v.Reason += "; the rule " + r.Name + " is ignored: it names neither the directory nor the confinement"
			}
			continue
		}
		if holds && first[r.Decide] == nil {
			first[r.Decide] = r
		}
	}
	switch deny, ask, allow := first["deny"], first["ask"], first["allow"]; {
	case deny != nil && v.Outcome != Deny:
		return deny.verdict(Deny, v, "")
	case deny != nil, v.Outcome == Deny && !v.lifts:
		return v
	case ask != nil && v.Outcome == Deny:
		return ask.verdict(Ask, v, ": "+v.found)
	case ask != nil && v.Outcome == Allow && p.autonomy == "readonly":
		return ask.verdict(Deny, v, ": readonly never asks")
	case ask != nil:
		return ask.verdict(Ask, v, "")
	case allow != nil && v.Outcome == Ask:
		return allow.verdict(Allow, v, "")
	}
	return v
}

// verdict is what a rule makes of one.
func (r *rule) verdict(o Outcome, v Verdict, more string) Verdict {
	reason := r.Reason
	if reason == "" {
		reason = "by the rule " + r.Name
	}
	return Verdict{Outcome: o, Risk: v.Risk, Rule: "rule." + r.Name, Reason: reason + more, Obeyed: v.Obeyed}
}
