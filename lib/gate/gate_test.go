package gate

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/lib/approval"
	"clawsh/lib/audit"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/permit"
	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// asker answers each question with a key; then, if it is set, is called before.
type asker struct {
	key   string
	err   error
	then  func()
	asked int
}

func (a *asker) Ask(context.Context, approval.Question) (string, error) {
	a.asked++
	if a.then != nil {
		a.then()
	}
	return a.key, a.err
}

// house is a home with a gate, and a workspace with old.txt.
type house struct {
	*testing.T
	*Gate
	asker *asker
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	cfg := config.Default(filepath.Join(dir, "home"))
	cfg.WorkspaceDir = filepath.Join(dir, "workspace")
	must(t, os.MkdirAll(cfg.Home, 0o700))
	must(t, os.Mkdir(cfg.WorkspaceDir, 0o700))
	must(t, os.WriteFile(filepath.Join(cfg.WorkspaceDir, "old.txt"), []byte("old\n"), 0o600))
	cfg.MakeRules()
	_, err = permit.Create(cfg.KeysDir())
	must(t, err)
	c := &command.Call{Log: slog.New(slog.DiscardHandler), Secrets: secret.New(nil),
		Getenv: func(name string) string { return map[string]string{"CLAWSH_HOME": cfg.Home}[name] }}
	c.Global.Config = filepath.Join(cfg.Home, "config.toml")
	h := &house{T: t, asker: &asker{key: approval.Yes}}
	h.Gate, err = Open(c, cfg, "")
	must(t, err)
	h.approvals.Asker = h.asker
	t.Cleanup(h.Close)
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// decided sends a call, and returns its verdict and what the audit log has of it.
func (h *house) decided(ctx context.Context, tool, args string) (record.ToolCall, []audit.Line) {
	h.Helper()
	call := record.ToolCall{V: record.Version, Kind: record.KindToolCall, ID: record.NewID("call-"),
		ConversationID: "conv-1", Tool: tool, Args: record.Raw(args)}
	raw, err := record.Encode(call)
	must(h, err)
	line, err := record.Parse(raw)
	must(h, err)
	out, err := h.Decide(ctx, line)
	must(h, err)
	must(h, record.DecodeOpen(out, &call))
	return call, h.audited(call.ID)
}

func (h *house) audited(call string) (lines []audit.Line) {
	h.Helper()
	log, err := os.ReadFile(h.config.AuditPath())
	must(h, err)
	for text := range strings.Lines(string(log)) {
		var l audit.Line
		if record.Decode([]byte(strings.TrimSpace(text)), &l) == nil && l.CallID == call {
			lines = append(lines, l)
		}
	}
	return lines
}

// permits tells whether the permit of a call is good for it.
func (h *house) permits(call record.ToolCall) bool {
	h.Helper()
	v, err := permit.LoadVerifier(h.config.PermitPubPath())
	must(h, err)
	_, err = v.Verify(call.Verdict.Permit, permit.Claims{CallID: call.ID, ConversationID: call.ConversationID,
		Tool: call.Tool, ArgsSHA256: record.HashBytes(call.Args), Risk: call.Verdict.Risk, Decision: record.Allow,
		PolicyHash: call.Verdict.PolicyHash, AuditID: call.Verdict.AuditID,
		Obeyed: permit.Files(call.Verdict.Obeyed)}, time.Now())
	return err == nil
}

const (
	reads  = `{"path":"old.txt"}`
	writes = `{"path":"new.txt","content":"new\n"}`
)

// A call that the policy lets run, or a person, has a permit, and a line in the audit log with its nonce.
func TestAllowedCallsHavePermits(t *testing.T) {
	for _, c := range []struct{ tool, args, risk, approval string }{
		{"file_read", reads, record.RiskLow, record.ApprovalNotRequired},
		{"file_write", writes, record.RiskMedium, record.ApprovalGranted},
		{"file_edit", `{"path":"old.txt","edits":[{"old":"not in it","new":"x"}]}`, record.RiskLow, record.ApprovalNotRequired},
	} {
		h := newHouse(t)
		call, lines := h.decided(t.Context(), c.tool, c.args)
		if v := call.Verdict; v.Decision != record.Allow || v.Risk != c.risk || v.Approval != c.approval ||
			!h.permits(call) || len(lines) != 1 || lines[0].Nonce == "" || lines[0].ID != v.AuditID {
			t.Errorf("%s: %+v, %+v", c.tool, v, lines)
		}
	}
}

// A yes for the session asks once for the same bytes, and again for others.
func TestSessionAsksOnce(t *testing.T) {
	h := newHouse(t)
	h.asker.key = approval.Session
	for i, c := range []struct {
		args  string
		asked int
	}{{writes, 1}, {writes, 1}, {`{"path":"new.txt","content":"other\n"}`, 2}} {
		if call, _ := h.decided(t.Context(), "file_write", c.args); !h.permits(call) || h.asker.asked != c.asked {
			t.Errorf("call %d: %+v, asked %d times", i, call.Verdict, h.asker.asked)
		}
	}
}

// A yes for always writes a rule: the same is not asked about again, in no conversation, and by no other gate.
func TestAlwaysWritesARule(t *testing.T) {
	h := newHouse(t)
	h.asker.key, h.asker.then = approval.Always, func() {
		if h.asker.asked == 2 {
			h.asker.key = approval.Yes // the rule is shown, and asked about
		}
	}
	before := h.policy.Hash()
	call, _ := h.decided(t.Context(), "file_write", writes)
	asked := h.asker.asked
	if !h.permits(call) || h.policy.Hash() == before || len(h.config.Written) != 1 {
		t.Fatalf("%+v, rules %+v", call.Verdict, h.config.Written)
	}
	if call, _ := h.decided(t.Context(), "file_write", writes); !h.permits(call) || h.asker.asked != asked {
		t.Errorf("%+v, asked %d times", call.Verdict, h.asker.asked)
	}
}

// denial is a call that is denied.
type denial struct {
	name, tool, args string
	change           func(h *house)
	rule, reason     string
	approval         string // not_required if empty
	asked            int
}

// unasked are denied without a question.
func unasked() []denial {
	stop := func(h *house) { must(h, os.WriteFile(h.config.EstopPath(), nil, 0o600)) }
	write := func(path func(h *house) string, text string) func(h *house) {
		return func(h *house) { must(h, os.WriteFile(path(h), []byte(text), 0o600)) }
	}
	file := func(h *house) string { return h.config.File }
	rules := func(h *house) string { return h.config.RulesPath() }
	log := func(h *house) string { return h.config.AuditPath() }
	return []denial{
		{name: "outside of the workspace", tool: "file_write", args: `{"path":"/etc/new.txt","content":"x"}`,
			rule: "path."},
		{name: "arguments that do not fit", tool: "file_write", args: `{"paths":"new.txt"}`, rule: "args.invalid"},
		{name: "a tool that there is not", tool: "file_erase", args: `{}`, rule: "tool.unknown"},
		{name: "the emergency stop", tool: "file_read", args: reads, change: stop, rule: "estop"},
		{name: "the emergency stop, before a question", tool: "file_write", args: writes, change: stop, rule: "estop"},
		{name: "a policy that changed", tool: "file_read", args: reads, rule: "policy.changed", reason: "changed",
			change: write(file, "[security]\nautonomy = 7\n")},
		{name: "rules that cannot be read any more", tool: "file_read", args: reads, rule: "policy.changed",
			change: write(rules, "rules = 7\n")},
		{name: "an audit log that others have added to", tool: "file_read", args: reads, rule: "audit.failed",
			change: write(log, "not ours\n")},
		{name: "an audit log that is closed", tool: "file_read", args: reads, rule: "audit.failed",
			change: func(h *house) { must(h, h.audit.Close()) }},
	}
}

// withheld are denied because nobody said yes.
func withheld() []denial {
	return []denial{
		{name: "the emergency stop, during a question", tool: "file_write", args: writes, rule: "estop", asked: 1,
			approval: "*",
			change: func(h *house) {
				h.asker.then = func() { must(h, os.WriteFile(h.config.EstopPath(), nil, 0o600)) }
			}},
		{name: "a no", tool: "file_write", args: writes, change: func(h *house) { h.asker.key = "n" },
			rule: "path.workspace", reason: "refused by the operator", approval: record.ApprovalRefused, asked: 1},
		{name: "no answer", tool: "file_write", args: writes, change: func(h *house) { h.asker.key = "" },
			rule: "path.workspace", approval: record.ApprovalRefused, asked: 1},
		{name: "an answer that was not offered", tool: "file_write", args: writes, rule: "path.workspace", asked: 1,
			change: func(h *house) { h.asker.key = "yes please" }, approval: record.ApprovalRefused},
		{name: "nobody to ask", tool: "file_write", args: writes, rule: "path.workspace", asked: 1,
			change: func(h *house) { h.asker.err = approval.ErrNobody }, approval: record.ApprovalUnavailable},
		{name: "a question that failed", tool: "file_write", args: writes, rule: "path.workspace", asked: 1,
			change:   func(h *house) { h.asker.err = errors.New("the terminal is gone") },
			approval: record.ApprovalUnavailable, reason: "the terminal is gone"},
		{name: "a file that changed during the question", tool: "file_edit",
			args: `{"path":"old.txt","edits":[{"old":"old","new":"new"}]}`, rule: "path.workspace", asked: 1,
			reason: "changed during", approval: record.ApprovalRefused, change: func(h *house) {
				h.asker.then = func() {
					path := filepath.Join(h.config.WorkspaceDir, "old.txt")
					must(h, os.WriteFile(path, []byte("old, and more\n"), 0o600))
				}
			}},
	}
}

// TestDenials: each reason for which a call is denied. None has a permit, and the audit log does not say that it ran.
func TestDenials(t *testing.T) {
	for _, c := range append(unasked(), withheld()...) {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			if c.change != nil {
				c.change(h)
			}
			call, lines := h.decided(t.Context(), c.tool, c.args)
			v := call.Verdict
			if c.approval == "" {
				c.approval = record.ApprovalNotRequired
			}
			if v.Decision != record.Deny || v.Permit != "" || v.ExpiresAt != "" || !strings.HasPrefix(v.Rule, c.rule) ||
				!strings.Contains(v.Reason, c.reason) || h.asker.asked != c.asked ||
				c.approval != "*" && v.Approval != c.approval {
				t.Errorf("%+v, asked %d times", v, h.asker.asked)
			}
			if n := len(lines); n > 0 && (lines[n-1].Decision != record.Deny || lines[n-1].Nonce != "") ||
				n == 0 && c.rule != "audit.failed" {
				t.Errorf("audit log: %+v", lines)
			}
		})
	}
}

// A call whose turn has ended is not decided, and nobody is asked about it.
func TestCancelledCallsAreNotDecided(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := newHouse(t)
	for _, c := range [][2]string{{"file_read", reads}, {"file_write", writes}} {
		call, _ := h.decided(ctx, c[0], c[1])
		if v := call.Verdict; v.Decision != record.Deny || v.Rule != "cancelled" || v.Permit != "" ||
			h.asker.asked > 0 {
			t.Errorf("%s: %+v", c[0], v)
		}
	}
}

// What has a verdict already, or is no call, is an error: nothing is decided, and nothing is written down.
func TestLinesThatAreNotDecided(t *testing.T) {
	h := newHouse(t)
	for _, text := range []string{
		`{"v":1,"kind":"tool_call","id":"c","tool":"time","args":{},"verdict":{"decision":"allow"}}`,
		`{"v":1,"kind":"tool_call","id":"c","tool":"time","args":{},"verdict":null}`,
		`{"v":1,"kind":"tool_call","id":"c","tool":7,"args":{}}`, `{"v":1,"kind":"tool_call","id":"c","args":{}}`,
		`{"v":1,"kind":"tool_call","id":"c","tool":"time"}`, `{"v":1,"kind":"tool_call","tool":"time","args":{}}`,
		`{"v":1,"kind":"tool_call","id":"` + strings.Repeat("c", 201) + `","tool":"time","args":{}}`,
	} {
		line, err := record.Parse([]byte(text))
		must(t, err)
		if out, err := h.Decide(t.Context(), line); err == nil || out != nil {
			t.Errorf("%s: %s", text, out)
		}
	}
	if log, err := os.ReadFile(h.config.AuditPath()); err != nil || len(log) > 0 {
		t.Errorf("audit log: %s, %v", log, err)
	}
}
