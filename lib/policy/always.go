package policy

import (
	"fmt"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/config"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// maxAlways is how long a text may be for which a rule is offered: a person reads it twice.
const maxAlways = 1000

// Always is the narrowest rule that answers a question about a call, and in words what it allows. There is none for
// what is not asked, for what an own rule asks about, for what other programs obey, for tools that no rule is offered
// for, and for texts of which a character would have to be escaped to be seen.
func (p *Policy) Always(c Call, v Verdict) (r config.Rule, words string, ok bool) {
	if v.Outcome != Ask || strings.HasPrefix(v.Rule, "rule.") || len(v.Obeyed) > 0 {
		return r, "", false
	}
	when, other, words, ok := narrowest(c)
	if !ok {
		return r, "", false
	}
	now, example, known := p.conditions()
	if !shown(p.root) || !known {
		return r, "", false
	}
	when = fmt.Sprintf(`.tool == %s and %s and .workspace == %s and .risk == %s%s`, jqText(c.Tool), when,
		jqText(p.root), jqText(v.Risk), now)
	surroundings := fmt.Sprintf(`"workspace":%s,"risk":%s%s`, jqText(p.root), jqText(v.Risk), example)
	r = config.Rule{Name: config.AlwaysName(when), When: when, Decide: "allow",
		Reason: "you allowed it at an approval question",
		Match:  []string{fmt.Sprintf(`{"tool":%s,"args":%s,%s}`, jqText(c.Tool), c.Args, surroundings)},
		NotMatch: []string{fmt.Sprintf(`{"tool":%s,"args":%s,%s}`, jqText(c.Tool), other, surroundings),
			fmt.Sprintf(`{"tool":%s,"args":%s}`, jqText(c.Tool+"x"), c.Args)}}
	if len(c.Args) > 4*maxAlways {
		r.Match = nil // the rule says what it is about
		r.NotMatch = r.NotMatch[:1]
	}
	return r,
		fmt.Sprintf("%s, in the workspace %s, provided that it is the same directory, the risk is still %s, and the confinement is unchanged", words, p.root, v.Risk), p.checked(r, c, v)
}

// narrowest is a condition that holds for a call and, of what could be asked about, for few others; and arguments for
// which it does not.
func narrowest(c Call) (when, other, words string, ok bool) {
	of, known := card.Find(c.Tool)
	if !known {
		return "", "", "", false
	}
	args, err := of.Decode(c.Args)
	if err != nil {
		return "", "", "", false
	}
	switch a := args.Value().(type) {
	case card.ShellArgs:
		if a.Sandbox != nil || a.Network != nil {
			return "", "", "", false
		}
		when = fmt.Sprintf(`(.args | del(.timeout_s)) == {command: %s}`, jqText(a.Command))
		return when, `{"command":` + jqText(a.Command+" x") + `}`,
			"exactly this command, with any timeout_s, whatever the files that it reads or runs then contain",
			shown(a.Command)
	case card.WriteArgs:
		when = fmt.Sprintf(`.args.path == %s and (.args.mode // "") == %s`, jqText(a.Path), jqText(a.Mode))
		return when, `{"path":` + jqText(a.Path+".x") + `}`, c.Tool + " of exactly this file, with any content",
			shown(a.Path)
	case card.EditArgs:
		return `.args.path == ` + jqText(a.Path), `{"path":` + jqText(a.Path+".x") + `}`,
			c.Tool + " of exactly this file, with any content", shown(a.Path)
	}
	return "", "", "", false
}

// checked tells whether a rule that is about to be offered holds for the call that it is made for, and for its examples
// as they say.
func (p *Policy) checked(r config.Rule, c Call, v Verdict) bool {
	rules, err := compileRules([]config.Rule{r})
	if err != nil {
		return false
	}
	if holds, err := rules[0].holds(p.input(c, v)); err != nil || !holds {
		return false
	}
	for _, example := range r.Match {
		if p.example(rules[0], example, true) != nil {
			return false
		}
	}
	for _, example := range r.NotMatch {
		if p.example(rules[0], example, false) != nil {
			return false
		}
	}
	return true
}

// shown tells whether a text is what a person sees of it, but for backslashes, which JSON shows, too.
func shown(s string) bool {
	return s != "" && len(s) <= maxAlways && strings.ReplaceAll(terminal.Escape(s), `\\`, `\`) == s &&
		!strings.ContainsRune(s, '\ufffd')
}

// jqText is a text as a jq string. JSON's escapes are jq's, and a backslash is one in both, so that nothing is
// interpolated.
func jqText(s string) string {
	b, err := record.Encode(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
