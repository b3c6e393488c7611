package policy

import (
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

func withRules(t testing.TB, autonomy string, rules ...config.Rule) *Policy {
	return policyIn(t, autonomy, func(c *config.Config) { c.Security.Rules = rules })
}

func TestOwnRules(t *testing.T) {
	deny := config.Rule{Name: "d", When: `true`, Decide: "deny", Reason: "so it is"}
	ask := config.Rule{Name: "a", When: `true`, Decide: "ask"}
	allow := config.Rule{Name: "y", When: `true`, Decide: "allow"}
	never := config.Rule{Name: "n", When: `false`, Decide: "deny"}
	read, write, block, high := `{"path":"a.txt"}`, `{"path":"x","content":"y"}`, `{"path":"../x"}`,
		`{"command":"make"}`
	for _, c := range []struct {
		autonomy   string
		rules      []config.Rule
		tool, args string
		want       Outcome
		rule       string
	}{
		{"supervised", []config.Rule{deny}, "file_read", read, Deny, "rule.d"},
		{"full", []config.Rule{allow, deny, ask}, "file_read", read, Deny, "rule.d"},
		{"supervised", []config.Rule{ask}, "file_read", read, Ask, "rule.a"},
		{"full", []config.Rule{ask}, "file_write", write, Ask, "rule.a"},
		{"readonly", []config.Rule{ask}, "file_read", read, Deny, "rule.a"},
		{"supervised", []config.Rule{allow}, "file_write", write, Allow, "rule.y"},
		{"supervised", []config.Rule{allow, ask}, "file_write", write, Ask, "rule.a"},
		{"supervised", []config.Rule{ask, allow}, "file_write", write, Ask, "rule.a"},
		{"readonly", []config.Rule{allow}, "file_write", write, Deny, "autonomy.readonly"},
		{"supervised", []config.Rule{allow}, "shell", high, Deny, "command.unlisted"},
		{"full", []config.Rule{allow, ask}, "file_read", block, Deny, "path.outside"},
		{"supervised", []config.Rule{never}, "file_write", write, Ask, "path.workspace"},
		// ask makes a question of a high denial, and of nothing else that is denied
		{"supervised", []config.Rule{ask}, "shell", high, Ask, "rule.a"},
		{"supervised", []config.Rule{ask, allow}, "shell", high, Ask, "rule.a"},
		{"supervised", []config.Rule{ask, deny}, "shell", high, Deny, "command.unlisted"},
		{"readonly", []config.Rule{ask}, "shell", high, Deny, "autonomy.readonly"},
		{"full", []config.Rule{ask}, "shell", high, Ask, "rule.a"},
		{"supervised", []config.Rule{ask}, "shell", `{"command":"rm -rf x"}`, Deny, "command.forbidden"},
		{"supervised", []config.Rule{ask}, "shell", `{"command":"cat ../x"}`, Deny, "path.outside"},
		{"supervised", []config.Rule{ask}, "shell", `{"cmd":"ls"}`, Deny, "args.invalid"},
		{"supervised", []config.Rule{ask}, "bash", high, Deny, "tool.unknown"},
		{"supervised", []config.Rule{ask}, "http", `{"url":"http://evil.invalid/"}`, Deny, "http.domain"},
	} {
		v := withRules(t, c.autonomy, c.rules...).Decide(Call{Tool: c.tool, Args: record.Raw(c.args)})
		if v.Outcome != c.want || v.Rule != c.rule || v.Reason == "" {
			t.Errorf("%s %v %s: %+v, want %v by %s", c.autonomy, c.rules, c.tool, v, c.want, c.rule)
		}
	}
}

// A rule that fails denies, in no more than its time, and sees nothing but the call.
func TestRulesThatFail(t *testing.T) {
	t.Setenv("PLANTED_SECRET", "value")
	for _, when := range []string{`error("x")`, `1`, `null`, `empty`, `true, false`, `.args.path | test(1)`,
		`range(1e12) | select(. < 0)`, `[range(1e12)]`, `def f: f; f`, `"a" * 100 | halt_error`, `repeat(.)`,
		`env.PLANTED_SECRET == "value" or error("no")`, `$ENV.PLANTED_SECRET == "value" or error("no")`} {
		p := withRules(t, "full", config.Rule{Name: "r", When: when, Decide: "allow"})
		start := time.Now()
		v := p.Decide(Call{Tool: "file_read", Args: record.Raw(`{"path":"a.txt"}`)})
		if v.Outcome != Deny || v.Rule != "rule.r" || !strings.Contains(v.Reason, "the rule r failed") {
			t.Errorf("%s: %+v", when, v)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s took %v", when, took)
		}
	}
}

func TestRulesAreCheckedByTheirExamples(t *testing.T) {
	cfg := func(rules ...config.Rule) *config.Config {
		var out *config.Config
		policyIn(t, "supervised", func(c *config.Config) { copied := *c; copied.Security.Rules = rules; out = &copied })
		return out
	}
	ok := config.Rule{Name: "a", When: `.args.path == "x" and .risk == "low"`, Decide: "deny",
		Match:    []string{`{"tool":"file_read","args":{"path":"x"}}`},
		NotMatch: []string{`{"tool":"file_read","args":{"path":"y"}}`}}
	if err := CheckRules(cfg(ok), OS{}); err != nil {
		t.Error(err)
	}
	bad := config.Rule{Name: "b", When: `.args.path == "x"`, Decide: "deny",
		Match:    []string{`{"tool":"t","args":{"path":"y"}}`, `nonsense`},
		NotMatch: []string{`{"tool":"t","args":{"path":"x"}}`}}
	syntax := config.Rule{Name: "c", When: `.a |`, Decide: "deny"}
	modules := config.Rule{Name: "m", When: `import "x" as x; true`, Decide: "deny"}
	err := CheckRules(cfg(bad, syntax, modules), OS{})
	for _, want := range []string{"b: match 1: the rule does not match", "b: match 2: not a call",
		"b: not_match 1: the rule matches", "c: when:", "m: when:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if _, err := New(cfg(syntax), OS{}); err == nil {
		t.Error("a policy was made of a rule that does not compile")
	}
	one, other := withRules(t, "full", ok), withRules(t, "full")
	if one.Hash() == other.Hash() {
		t.Error("the hash of a policy does not cover its rules")
	}
}

func FuzzRules(f *testing.F) {
	f.Add(`.tool == "shell"`, `{"path":"x"}`)
	f.Add(`.args | length > 3`, `[1e400]`)
	f.Fuzz(func(t *testing.T, when, args string) {
		if len(when) > 200 {
			return
		}
		rules, err := compileRules([]config.Rule{{Name: "r", When: when, Decide: "allow"}})
		if err != nil {
			return
		}
		p := &Policy{autonomy: "supervised", rules: rules}
		if v := p.byUserRules(Call{Tool: "t", Args: record.Raw(args)},
			Verdict{Outcome: Deny, Risk: record.RiskHigh, Rule: "x", Reason: "y"}); v.Outcome != Deny {
			t.Errorf("%q lets through what was denied: %+v", when, v)
		}
	})
}
