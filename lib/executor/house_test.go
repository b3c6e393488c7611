package executor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/permit"
	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// house is a home with its gate, its executor, and a workspace with old.txt.
type house struct {
	*testing.T
	*Executor
	gate *permit.Signer
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
	_, err = permit.Create(cfg.KeysDir())
	must(t, err)
	h := &house{T: t}
	h.gate, err = permit.LoadSigner(cfg.KeysDir())
	must(t, err)
	h.Executor, err = Open(&command.Call{Log: slog.New(slog.DiscardHandler), Secrets: secret.New(nil),
		Getenv: func(string) string { return "" }, Stderr: io.Discard}, cfg, nil)
	must(t, err)
	t.Cleanup(h.Close)
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asked is a call with a verdict, and the claims of a permit that is good for it.
func (h *house) asked(tool, risk, args string) (record.ToolCall, permit.Claims) {
	call := record.ToolCall{V: record.Version, Kind: record.KindToolCall, ID: record.NewID("call-"),
		ConversationID: "conv-1", Tool: tool, Args: record.Raw(args),
		Verdict: &record.Verdict{Decision: record.Allow, Risk: risk, Rule: "path.workspace", Reason: "writes",
			Approval: "granted", PolicyHash: h.policy.Hash(), AuditID: "audit-1"}}
	return call, permit.Claims{CallID: call.ID, ConversationID: call.ConversationID, Tool: tool,
		ArgsSHA256: record.HashBytes(call.Args), Risk: risk, Decision: record.Allow,
		PolicyHash: h.policy.Hash(), AuditID: "audit-1", Nonce: permit.NewNonce(),
		ExpiresAt: time.Now().Add(permit.Lifetime).UTC().Format(record.TimeFormat)}
}

func (h *house) sign(s *permit.Signer, c permit.Claims) string {
	h.Helper()
	text, err := s.Sign(c)
	must(h, err)
	return text
}

// send runs a call, and checks that its result is sealed.
func (h *house) send(ctx context.Context, call record.ToolCall) (record.ToolResult, permit.Seal) {
	h.Helper()
	raw, err := record.Encode(call)
	must(h, err)
	line, err := record.Parse(raw)
	must(h, err)
	out, err := h.Executor.Run(ctx, line)
	must(h, err)
	line, err = record.Parse(out)
	must(h, err)
	seal, err := permit.NewExecutors(h.config.ExecutorsDir()).Open(line)
	must(h, err)
	var r record.ToolResult
	must(h, record.DecodeOpen(out, &r))
	return r, seal
}

// wrote tells whether a call has made new.txt.
func (h *house) wrote() bool {
	_, err := os.Lstat(filepath.Join(h.config.WorkspaceDir, "new.txt"))
	return !errors.Is(err, os.ErrNotExist)
}

// used is what the register says of used permits.
func (h *house) used() string {
	b, err := os.ReadFile(h.config.PermitsUsedPath())
	must(h, err)
	return string(b)
}

// stranger is the gate of another home; accepted with these policies, if there are any.
func (h *house) stranger(policies ...string) *permit.Signer {
	h.Helper()
	dir := h.TempDir()
	_, err := permit.Create(dir)
	must(h, err)
	s, err := permit.LoadSigner(dir)
	must(h, err)
	for _, p := range policies {
		_, _, err := permit.AcceptGate(h.config.GatesDir(), s.PublicText(p))
		must(h, err)
	}
	return s
}

// theirs is the policy of another host.
func theirs() string { return record.HashBytes([]byte("theirs")) }
