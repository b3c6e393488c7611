package config

import (
	"fmt"
	"strings"
)

// Rule is a rule of the user's own about tool calls: an expression, and what it decides where it holds.
type Rule struct {
	Name     string   `toml:"name" json:"name"`                              // the verdict's rule is rule.NAME
	When     string   `toml:"when" json:"when"`                              // a jq expression over the call and what the built-in rules found
	Decide   string   `toml:"decide" json:"decide"`                          // deny, ask or allow
	Reason   string   `toml:"reason,omitempty" json:"reason,omitzero"`       // for the verdict
	Match    []string `toml:"match,omitempty" json:"match,omitzero"`         // calls, as JSON, for which it must hold
	NotMatch []string `toml:"not_match,omitempty" json:"not_match,omitzero"` // and for which it must not
	Origin   string   `toml:"-" json:"origin,omitzero"`                      // RuleOfConfig or RuleWritten
}

const ruleKeys = "name when decide reason match not_match"

// rules checks what a rule is made of. Whether its expression compiles, and holds where it should, the policy finds out.
func (v *validator) rules(rules []Rule) {
	seen := map[string]bool{}
	for i, r := range rules {
		what := fmt.Sprintf("rule %d", i+1)
		if r.Name != "" {
			what += " " + quote("", r.Name)
		}
		switch {
		case r.Name == "":
			v.problem("security.rules", "%s: it has no name", what)
		case strings.Trim(r.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(r.Name) > 60:
			v.problem("security.rules", "%s: want a name of lower-case letters, digits and -", what)
		case seen[r.Name]:
			v.problem("security.rules", "%s: there is another rule of this name", what)
		}
		seen[r.Name] = true
		if strings.TrimSpace(r.When) == "" {
			v.problem("security.rules", `%s: it has no "when"`, what)
		}
		if r.Decide != "deny" && r.Decide != "ask" && r.Decide != "allow" {
			v.problem("security.rules", "%s: decide %s: want deny, ask or allow", what, quote("", r.Decide))
		}
	}
}
