package policy

import (
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// high = "ask" makes questions of what supervision denies for its risk, and of nothing else; the second look then
// refuses only what is blocked.
func TestHighAsks(t *testing.T) {
	asking := func(c *config.Config) { c.Security.High = "ask" }
	allow := config.Rule{Name: "y", When: `true`, Decide: "allow"}
	for _, c := range []struct {
		autonomy, tool, args string
		rules                []config.Rule
		want                 Outcome
		rule                 string
	}{
		{"supervised", "shell", `{"command":"make test"}`, nil, Ask, "command.unlisted"},
		{"supervised", "shell", `{"command":"ls -la; make test"}`, nil, Ask, "command.unlisted"},
		{"supervised", "shell", `{"command":"make test"}`, []config.Rule{allow}, Allow, "rule.y"},
		{"supervised", "shell", `{"command":"ls -la"}`, nil, Ask, "command.allowlist"},
		{"supervised", "shell", `{"command":"make; rm -rf x"}`, []config.Rule{allow}, Deny, "command.forbidden"},
		{"supervised", "shell", `{"command":"make /etc/x"}`, []config.Rule{allow}, Deny, "path.forbidden"},
		{"supervised", "shell", `{"command":"make -o /dev/null"}`, nil, Ask, "command.unlisted"},
		{"supervised", "shell", `{"command":"make -o /dev/sda"}`, nil, Deny, "path.outside"},
		{"supervised", "shell", `{"command":"make /dev/null/../sda"}`, nil, Deny, "path.outside"},
		{"supervised", "shell", `{"command":"if"}`, []config.Rule{allow}, Deny, "shell.syntax"},
		{"supervised", "nothing", `{}`, []config.Rule{allow}, Deny, "tool.unknown"},
		{"supervised", "file_write", `{"path":".git/config","content":""}`, []config.Rule{allow}, Deny,
			"path.protected"},
		{"readonly", "shell", `{"command":"make test"}`, []config.Rule{allow}, Deny, "autonomy.readonly"},
		{"full", "shell", `{"command":"make test"}`, nil, Allow, "command.unlisted"},
	} {
		p := policyIn(t, c.autonomy, func(cfg *config.Config) { asking(cfg); cfg.Security.Rules = c.rules })
		if v := p.Decide(Call{Tool: c.tool, Args: record.Raw(c.args)}); v.Outcome != c.want || v.Rule != c.rule {
			t.Errorf("%s %s %s: %+v, want %v by %s", c.autonomy, c.tool, c.args, v, c.want, c.rule)
		}
	}
	p := policyIn(t, "supervised", asking)
	if err := p.ExecIn(t.Context(), p.root, []string{"/usr/bin/make", "test"},
		Permitted{Risk: record.RiskHigh}); err != nil {
		t.Error(err)
	}
	if p.ExecIn(t.Context(), p.root, []string{"/bin/rm", "x"}, Permitted{Risk: record.RiskHigh}) == nil ||
		p.ExecIn(t.Context(), p.root, []string{"/usr/bin/make"}, Permitted{Risk: record.RiskMedium}) == nil {
		t.Error("the second look lets through what was not asked about")
	}
	if plain := policyIn(t, "supervised", nil); plain.Hash() == p.Hash() {
		t.Error("the hash of a policy does not cover high")
	}
}
