package policy

import (
	"testing"

	"clawsh/lib/policy/programs"
)

// What is known of every program holds for its examples.
func TestProgramsHoldTheirExamples(t *testing.T) {
	if err := CheckPrograms(); err != nil {
		t.Error(err)
	}
}

// TestRulesOfPrograms: every rule and check that a description names is there, and neither a builtin nor a rule of
// another kind is judged by options.
func TestRulesOfPrograms(t *testing.T) {
	count := 0
	for _, p := range programs.All() {
		rule, ok := ruleOf(p)
		if ok != (p.Rule != "") || p.Rule != "" && rule == nil {
			t.Errorf("%s: the rule %q does not exist", p.Names[0], p.Rule)
		}
		if check, ok := checkOf(p.Check); !ok || check == nil {
			t.Errorf("%s: the check %q does not exist", p.Names[0], p.Check)
		}
		for _, name := range p.Names {
			if _, is := modelled(name); is {
				count++
				if builtins[name] != nil {
					t.Errorf("%s is a builtin: its options are not asked for", name)
				}
			}
		}
	}
	if _, is := modelled("sh"); is || count < 80 {
		t.Errorf("%d programs have options", count)
	}
	j, p := &judge{}, &parsed{name: "x"}
	if check, ok := checkOf("no-such"); ok || check(j, p, nil).rank() < 2 {
		t.Error("a check that does not exist refuses nothing")
	}
	if rule, ok := ruleOf(&programs.Program{Rule: "no-such"}); ok || rule != nil {
		t.Error("a rule that does not exist is found")
	}
}
