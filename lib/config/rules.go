package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Rule is a user's own rule about tool calls: an expression, and the decision when it is true.
type Rule struct {
	Name string `toml:"name" json:"name"` // the verdict's rule is rule.NAME
	// a jq expression over the call and what the built-in rules found
	When     string   `toml:"when" json:"when"`
	Decide   string   `toml:"decide" want:"deny|ask|allow" json:"decide"`    // deny, ask or allow
	Reason   string   `toml:"reason,omitempty" json:"reason,omitzero"`       // for the verdict
	Match    []string `toml:"match,omitempty" json:"match,omitzero"`         // calls, as JSON, for which it must hold
	NotMatch []string `toml:"not_match,omitempty" json:"not_match,omitzero"` // and for which it must not
	Origin   string   `toml:"-" json:"origin,omitzero"`                      // RuleOfConfig or RuleWritten
}

// rules checks what a rule is made of. Whether its expression compiles, and holds where it should, the policy finds
// out.
func (v *validator) rules(rules []Rule) {
	seen := map[string]bool{}
	for i, r := range rules {
		key, what := element("security.rules", i), fmt.Sprintf("rule %d", i+1)
		if r.Name != "" {
			what += " " + quote("", r.Name)
		}
		switch {
		case r.Name == "":
			v.problem(key, "%s: missing name", what)
		case strings.Trim(r.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(r.Name) > 60:
			v.problem(key, "%s: want a name of lower-case letters, digits and -", what)
		case seen[r.Name]:
			v.problem(key, "%s: another rule has the same name", what)
		}
		seen[r.Name] = true
		if strings.TrimSpace(r.When) == "" {
			v.problem(key, `%s: missing "when"`, what)
		}
		v.values(key, what+": ", reflect.ValueOf(r))
	}
}
