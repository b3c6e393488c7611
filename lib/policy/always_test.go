package policy

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

func shellCall(t testing.TB, command string) Call {
	args, err := record.Encode(struct {
		Command string `json:"command"`
	}{command})
	if err != nil {
		t.Fatal(err)
	}
	return Call{Tool: "shell", Args: args}
}

// offered is the rule for a call, and the policy with it in force.
func offered(t testing.TB, p *Policy, c Call) (config.Rule, *Policy, bool) {
	r, words, ok := p.Always(c, p.Decide(c))
	if !ok {
		return r, nil, false
	}
	rules, err := config.ParseRules(r.Block(record.Now()))
	if err != nil || len(rules) != 1 || words == "" {
		t.Fatalf("%s: %v, %v, %q", c.Args, rules, err, words)
	}
	want := r
	want.Origin = rules[0].Origin
	if len(want.Match) == 0 {
		want.Match = rules[0].Match
	}
	if !reflect.DeepEqual(rules[0], want) {
		t.Fatalf("%s: written %+v, read %+v", c.Args, want, rules[0])
	}
	with := *p
	if with.rules, err = compileRules(rules); err != nil {
		t.Fatal(err)
	}
	return r, &with, true
}

func TestAlways(t *testing.T) {
	_, p := ways(t)
	for command, want := range map[string]bool{
		"touch x": true, "make test": true, `echo "a \(1+1)" > x`: true, "echo 'x' > y": true, "echo ü > x": true,
		`grep '\.go' x > y`: true,
		"ls":                false, "rm x": false, "cat ../x": false, "touch x\ntouch y": false, "touch \u202ex": false,
		"touch x\u200b": false, "touch\tx": false, "touch \ufffd": false,
		"touch " + strings.Repeat("x", 2000): false,
	} {
		c := shellCall(t, command)
		r, with, ok := offered(t, p, c)
		if ok != want {
			t.Errorf("%q: a rule is offered: %v (%+v)", command, ok, r)
			continue
		}
		if !ok {
			continue
		}
		if v := with.Decide(c); v.Outcome != Allow || v.Rule != "rule."+r.Name {
			t.Errorf("%q: %+v", command, v)
		}
		for _, other := range []string{command + " ", command + "; touch z", " " + command, strings.ToUpper(command)} {
			if v := with.Decide(shellCall(t, other)); v.Outcome == Allow {
				t.Errorf("the rule for %q allows %q", command, other)
			}
		}
		elsewhere := *with
		elsewhere.root = "/elsewhere"
		readonly := *with
		readonly.autonomy = "readonly"
		if v := elsewhere.Decide(c); v.Outcome == Allow {
			t.Errorf("the rule for %q holds in another workspace", command)
		}
		if v := readonly.Decide(c); v.Outcome != Deny {
			t.Errorf("the rule for %q holds at readonly", command)
		}
	}
	for args, want := range map[string]bool{`{"command":"make","timeout_s":9}`: true,
		`{"command":"make","sandbox":{}}`: false, `{"command":"make","network":["x"]}`: false} {
		if _, _, ok := offered(t, p, Call{Tool: "shell", Args: record.Raw(args)}); ok != want {
			t.Errorf("%s: offered %v", args, ok)
		}
	}
	write := Call{Tool: "file_write", Args: record.Raw(`{"path":"notes/a","content":"x\u202e"}`)}
	_, with, ok := offered(t, p, write)
	if !ok || with.Decide(write).Outcome != Allow {
		t.Error("file_write: no rule, or one that does not hold")
	}
	for _, args := range []string{`{"path":"notes/b","content":"x"}`, `{"path":"./notes/a","content":"x"}`,
		`{"path":"notes/a","content":"x","mode":"append"}`} {
		if with.Decide(Call{Tool: "file_write", Args: record.Raw(args)}).Outcome == Allow {
			t.Errorf("the rule for notes/a allows %s", args)
		}
	}
	asking := policyIn(t, "supervised", func(c *config.Config) {
		c.Security.Rules = []config.Rule{{Name: "a", When: "true", Decide: "ask"}}
	})
	if _, _, ok := offered(t, asking, shellCall(t, "touch x")); ok {
		t.Error("a rule is offered where an own rule asks: it would not help")
	}
}

// What a model writes cannot make the rule wider than the call: it holds for it, and for no other.
func FuzzAlways(f *testing.F) {
	_, p := ways(f)
	for _, s := range []string{"touch x", `echo "\(.)" > x`, `echo '" or true or "' > x`, `touch "] == [" `,
		"touch '\"\"\"'", `touch \\"`, "touch 'ü€'", "make #", "touch x' or '", "echo $(touch x) > \\u0041"} {
		f.Add(s, "touch y")
	}
	f.Fuzz(func(t *testing.T, command, other string) {
		c := shellCall(t, command)
		_, with, ok := offered(t, p, c)
		if !ok {
			return
		}
		if with.Decide(c).Outcome != Allow {
			t.Fatalf("the rule for %q does not hold for it", command)
		}
		for _, o := range []string{other, command + other, other + command} {
			if o == command {
				continue
			}
			d := shellCall(t, o)
			if before, after := p.Decide(d), with.Decide(d); string(d.Args) != string(c.Args) &&
				before.Outcome != after.Outcome {
				t.Fatalf("the rule for %q decides about %q: %+v", command, o, after)
			}
		}
	})
}

// TestAlwaysEndsWithItsConditions: each thing that confined the call when a person said yes is changed by itself, and
// it is asked again.
func TestAlwaysEndsWithItsConditions(t *testing.T) {
	var cfg config.Config
	policyIn(t, "supervised", func(c *config.Config) {
		c.Security.Harmless, c.Security.High, c.Security.Sandbox = "low", "ask", "auto"
		cfg = *c
	})
	p, err := New(&cfg, OS{})
	if err != nil {
		t.Fatal(err)
	}
	c := shellCall(t, "make")
	r, words, ok := p.Always(c, p.Decide(c))
	if !ok || !strings.Contains(words, "the same directory") {
		t.Fatalf("no rule for make: %q", words)
	}
	for name, change := range map[string]func(*config.Config){
		"":               func(*config.Config) {},
		"sandbox":        func(c *config.Config) { c.Security.Sandbox = "off" },
		"another engine": func(c *config.Config) { c.Security.Sandbox = "landlock" },
		"git_write":      func(c *config.Config) { c.Sandbox.GitWrite = !c.Sandbox.GitWrite },
		"read":           func(c *config.Config) { c.Sandbox.Read = []string{"/srv"} },
		"read_roots": func(c *config.Config) {
			c.ReadRoots = append(slices.Clone(c.ReadRoots),
				config.ReadRoot{Path: "/srv"})
		},
		"layout":         func(c *config.Config) { c.Sandbox.Layout = "staged" },
		"workspace_only": func(c *config.Config) { c.Security.WorkspaceOnly = !c.Security.WorkspaceOnly },
		"forbidden":      func(c *config.Config) { c.Security.ForbiddenPaths = nil },
	} {
		t.Run(name, func(t *testing.T) {
			now := cfg
			now.Written = []config.Rule{r}
			change(&now)
			decides(t, &now, c, name == "")
		})
	}
	if err := errors.Join(os.Rename(cfg.WorkspaceDir, cfg.WorkspaceDir+".was"),
		os.Mkdir(cfg.WorkspaceDir, 0o700)); err != nil {
		t.Fatal(err)
	}
	cfg.Written = []config.Rule{r}
	decides(t, &cfg, c, false)
}

// decides holds a configuration to whether it lets a call run unasked, and its rules to their examples.
func decides(t *testing.T, cfg *config.Config, c Call, unasked bool) {
	t.Helper()
	p, err := New(cfg, OS{})
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Decide(c); v.Outcome != map[bool]Outcome{true: Allow, false: Ask}[unasked] {
		t.Errorf("%+v", v)
	}
	if err := CheckRules(cfg, OS{}); err != nil {
		t.Errorf("the examples of its rules do not hold: %v", err)
	}
}

// TestRulesWithoutConditions: what was written before rules named their conditions asks again, and says why.
func TestRulesWithoutConditions(t *testing.T) {
	var cfg config.Config
	policyIn(t, "supervised", func(c *config.Config) { c.Security.High = "ask"; cfg = *c })
	when := `.tool == "shell" and (.args | del(.timeout_s)) == {command: "make \" and .directory == \"x\" and .confined == {"} and .risk == .risk`
	cfg.Written = []config.Rule{{Name: config.AlwaysName(when), When: when, Decide: "allow"}}
	p, err := New(&cfg, OS{})
	if err != nil {
		t.Fatal(err)
	}
	v := p.Decide(shellCall(t, `make " and .directory == "x" and .confined == {`))
	if v.Outcome == Allow {
		t.Errorf("%+v", v)
	}
	when = `.args.command == "make"`
	cfg.Written = []config.Rule{{Name: config.AlwaysName(when), When: when, Decide: "allow"}}
	if p, err = New(&cfg, OS{}); err != nil {
		t.Fatal(err)
	}
	if v := p.Decide(shellCall(t, "make")); v.Outcome != Ask || !strings.Contains(v.Reason, "is ignored") {
		t.Errorf("%+v", v)
	}
	cfg.Written[0].Name = "mine"
	if p, err = New(&cfg, OS{}); err != nil {
		t.Fatal(err)
	}
	if v := p.Decide(shellCall(t, "make")); v.Outcome != Allow {
		t.Errorf("a rule of the user's own: %+v", v)
	}
}
