package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/permit"
	"clawsh/lib/record"
)

const write = `{"path":"new.txt","content":"new\n"}`

// A call runs once with a permit that is good for it, and its result says which decision that was.
func TestPermittedCallRunsOnce(t *testing.T) {
	h := newHouse(t)
	call, claims := h.asked("file_write", record.RiskMedium, write)
	call.Verdict.Permit = h.sign(h.gate, claims)
	r, seal := h.send(t.Context(), call)
	if r.Status != record.StatusAllowed || !r.Success || !h.wrote() || seal.AuditID != "audit-1" ||
		!strings.Contains(h.used(), claims.Nonce) {
		t.Fatalf("%+v, %+v, used: %s", r, seal, h.used())
	}
	must(t, os.Remove(filepath.Join(h.config.WorkspaceDir, "new.txt")))
	r, seal = h.send(t.Context(), call)
	if r.Status != record.StatusDenied || r.Metadata.Permit != record.PermitUsed || h.wrote() || seal.AuditID != "" {
		t.Errorf("again: %+v, %+v", r, seal)
	}
}

// A call of an accepted gate on another host runs under the policy that was accepted with it.
func TestAcceptedGatePermits(t *testing.T) {
	h := newHouse(t)
	call, claims := h.asked("file_write", record.RiskMedium, write)
	claims.PolicyHash, claims.Executor = theirs(), h.sealer.ID()
	call.Verdict.PolicyHash = theirs()
	call.Verdict.Permit = h.sign(h.stranger(theirs()), claims)
	if r, _ := h.send(t.Context(), call); r.Status != record.StatusAllowed || !h.wrote() {
		t.Errorf("%+v", r)
	}
}

// refusal is a call that must not run.
type refusal struct {
	name   string
	change func(h *house, call *record.ToolCall, c *permit.Claims) *permit.Signer // before it is signed; nil: our gate
	after  func(h *house, call *record.ToolCall, c permit.Claims)                 // once it is signed
	permit string                                                                 // what the result says of the permit
	error  string                                                                 // is in its error
	audit  string                                                                 // the decision that its seal names
	failed bool                                                                   // it is not denied: it has not begun
}

// differing are permits for another call than the one that bears them.
func differing() (list []refusal) {
	for name, change := range map[string]func(c *permit.Claims){
		"call id":              func(c *permit.Claims) { c.CallID = "call-2" },
		"conversation":         func(c *permit.Claims) { c.ConversationID = "conv-2" },
		"tool":                 func(c *permit.Claims) { c.Tool = "file_read" },
		"arguments":            func(c *permit.Claims) { c.ArgsSHA256 = record.HashBytes([]byte(write + " ")) },
		"risk":                 func(c *permit.Claims) { c.Risk = record.RiskLow },
		"decision":             func(c *permit.Claims) { c.Decision = record.Deny },
		"policy":               func(c *permit.Claims) { c.PolicyHash = "other" },
		"audit id":             func(c *permit.Claims) { c.AuditID = "audit-2" },
		"list of obeyed files": func(c *permit.Claims) { c.Obeyed = permit.Files([]string{"Makefile"}) },
	} {
		list = append(list, refusal{name: "another " + name, permit: record.PermitInvalid,
			error:  "its " + name + " differs",
			change: func(_ *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer { change(c); return nil }})
	}
	return list
}

// forged are permits that are no gate's, or not this gate's for this executor.
func forged() []refusal {
	set := func(change func(permit string) string) func(*house, *record.ToolCall, permit.Claims) {
		return func(_ *house, call *record.ToolCall, _ permit.Claims) {
			call.Verdict.Permit = change(call.Verdict.Permit)
		}
	}
	return []refusal{
		{name: "no permit", after: set(func(string) string { return "" }), permit: record.PermitInvalid,
			error: "permit: "},
		{name: "no signature", after: set(func(p string) string { return p[:strings.LastIndex(p, ".")] }),
			permit: record.PermitInvalid, error: "permit: "},
		{name: "a signature of another permit", permit: record.PermitInvalid, error: "signature",
			after: func(h *house, call *record.ToolCall, c permit.Claims) {
				c.Risk = record.RiskHigh
				other := h.sign(h.gate, c)
				p := call.Verdict.Permit
				call.Verdict.Permit = p[:strings.LastIndex(p, ".")] + other[strings.LastIndex(other, "."):]
			}},
		{name: "a gate that nobody accepted", permit: record.PermitInvalid, error: "not accepted here",
			change: func(h *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer {
				c.Executor = h.sealer.ID()
				return h.stranger()
			}},
		{name: "an accepted gate, for no executor", permit: record.PermitInvalid, error: "was not signed for executor",
			change: func(h *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer {
				return h.stranger(c.PolicyHash)
			}},
		{name: "an accepted gate, for another executor", permit: record.PermitInvalid,
			error: "was not signed for executor",
			change: func(h *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer {
				c.Executor = "0123456789abcdef"
				return h.stranger(c.PolicyHash)
			}},
		{name: "our gate, for another executor", permit: record.PermitInvalid, error: "was not signed for executor",
			change: func(_ *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer {
				c.Executor = "0123456789abcdef"
				return nil
			}},
		{name: "a gate that was removed again", permit: record.PermitInvalid, error: "not accepted here",
			change: func(h *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer {
				c.Executor = h.sealer.ID()
				return h.stranger(c.PolicyHash)
			},
			after: func(h *house, _ *record.ToolCall, _ permit.Claims) { must(h, os.RemoveAll(h.config.GatesDir())) }},
	}
}

// late are permits that were good once, and those that will be.
func late() []refusal {
	at := func(when time.Duration) func(*house, *record.ToolCall, *permit.Claims) *permit.Signer {
		return func(_ *house, _ *record.ToolCall, c *permit.Claims) *permit.Signer {
			c.ExpiresAt = time.Now().Add(when).UTC().Format(record.TimeFormat)
			return nil
		}
	}
	return []refusal{
		{name: "expired", change: at(-time.Second), permit: record.PermitExpired, error: "expired", audit: "audit-1"},
		{name: "valid for too long", change: at(2 * permit.Lifetime), permit: record.PermitInvalid, error: "valid for"},
		{name: "a register that cannot be read", permit: record.PermitInvalid, error: "permits.used",
			after: func(h *house, _ *record.ToolCall, _ permit.Claims) {
				must(h, os.WriteFile(h.config.PermitsUsedPath(), []byte("what is this\n"), 0o600))
			}},
	}
}

// elsewhere are permits under another policy than the one in force here.
func elsewhere() []refusal {
	under := func(hash string) func(*record.ToolCall, *permit.Claims) {
		return func(call *record.ToolCall, c *permit.Claims) { call.Verdict.PolicyHash, c.PolicyHash = hash, hash }
	}
	return []refusal{
		{name: "under another policy", permit: record.PermitInvalid, audit: "audit-1", error: "under another policy",
			change: func(_ *house, call *record.ToolCall, c *permit.Claims) *permit.Signer {
				under("before")(call, c)
				return nil
			}},
		{name: "a policy that was not accepted with its gate", permit: record.PermitInvalid, audit: "audit-1",
			error: "its policy is not accepted here",
			change: func(h *house, call *record.ToolCall, c *permit.Claims) *permit.Signer {
				under("later")(call, c)
				c.Executor = h.sealer.ID()
				return h.stranger(theirs())
			}},
		{name: "what this host denies, from an accepted gate", permit: record.PermitInvalid, audit: "audit-1",
			error: "denied by the policy of this host",
			change: func(h *house, call *record.ToolCall, c *permit.Claims) *permit.Signer {
				under(theirs())(call, c)
				call.Args = record.Raw(`{"path":"/etc/new.txt","content":"new\n"}`)
				c.ArgsSHA256, c.Executor = record.HashBytes(call.Args), h.sealer.ID()
				return h.stranger(theirs())
			}},
		{name: "rules that cannot be read any more", permit: record.PermitInvalid, audit: "audit-1",
			error: "is now invalid",
			after: func(h *house, _ *record.ToolCall, _ permit.Claims) {
				must(h, os.WriteFile(h.config.RulesPath(), []byte("rules = 7\n"), 0o600))
			}},
	}
}

// stopped are calls with a good permit, which something else keeps from running, and those without a word of a gate.
func stopped() []refusal {
	verdict := func(change func(v *record.Verdict) *record.Verdict) func(*house, *record.ToolCall, permit.Claims) {
		return func(_ *house, call *record.ToolCall, _ permit.Claims) { call.Verdict = change(call.Verdict) }
	}
	return []refusal{
		{name: "no verdict", error: "did not pass claw-gate",
			after: verdict(func(*record.Verdict) *record.Verdict { return nil })},
		{name: "denied", error: "denied: it is outside", after: verdict(func(v *record.Verdict) *record.Verdict {
			v.Decision, v.Rule, v.Reason = record.Deny, "path.outside", "it is outside"
			return v
		})},
		{name: "a decision that there is not", error: "denied: writes",
			after: verdict(func(v *record.Verdict) *record.Verdict { v.Decision = "ask"; return v })},
		{name: "the emergency stop", audit: "audit-1", error: "denied: emergency stop: ",
			after: func(h *house, _ *record.ToolCall, _ permit.Claims) {
				must(h, os.WriteFile(h.config.EstopPath(), nil, 0o600))
			}},
		{name: "a tool that there is not", audit: "audit-1", error: "there is no such tool", failed: true,
			change: func(_ *house, call *record.ToolCall, c *permit.Claims) *permit.Signer {
				call.Tool, c.Tool = "file_erase", "file_erase"
				return nil
			}},
		{name: "a permit for a file that others obey, without it", audit: "audit-1", error: "",
			change: func(_ *house, call *record.ToolCall, c *permit.Claims) *permit.Signer {
				call.Args = record.Raw(`{"path":".git/hooks/pre-commit","content":"new\n"}`)
				c.ArgsSHA256 = record.HashBytes(call.Args)
				return nil
			}},
		{name: "a permit to read, to write", audit: "audit-1", error: "read",
			change: func(_ *house, call *record.ToolCall, c *permit.Claims) *permit.Signer {
				call.Verdict.Risk, c.Risk = record.RiskLow, record.RiskLow
				return nil
			}},
	}
}

// TestRefusals: whatever is not right about a call or its permit, no tool is touched, and the sealed result says why.
// Only a permit of our gate for this very call makes it name the decision.
func TestRefusals(t *testing.T) {
	for _, list := range [][]refusal{differing(), forged(), late(), elsewhere(), stopped()} {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) { c.check(newHouse(t)) })
		}
	}
}

func (c refusal) check(h *house) {
	call, claims := h.asked("file_write", record.RiskMedium, write)
	gate := h.gate
	if c.change != nil {
		if other := c.change(h, &call, &claims); other != nil {
			gate = other
		}
	}
	call.Verdict.Permit = h.sign(gate, claims)
	if c.after != nil {
		c.after(h, &call, claims)
	}
	r, seal := h.send(h.Context(), call)
	status := record.StatusDenied
	if c.failed {
		status = record.StatusFailed
	}
	if r.Status != status || r.Success || h.wrote() || !strings.Contains(r.Error, c.error) ||
		r.Metadata.Permit != c.permit || seal.AuditID != c.audit || seal.Status != r.Status {
		h.Errorf("%+v\nseal %+v", r, seal)
	}
	if c.permit != "" && strings.Contains(h.used(), claims.Nonce) {
		h.Error("the permit was used up")
	}
}

// A call that a model got wrong is told so in the gate's words: nobody has forbidden anything.
func TestMistakesAreToldAsSuch(t *testing.T) {
	h := newHouse(t)
	for rule, want := range map[string]string{"args.invalid": "the gate's words",
		"path.outside": "denied: the gate's words"} {
		call, _ := h.asked("file_write", record.RiskMedium, write)
		call.Verdict.Decision, call.Verdict.Rule, call.Verdict.Reason = record.Deny, rule, "the gate's words"
		if r, _ := h.send(t.Context(), call); r.Error != want || r.Status != record.StatusDenied || h.wrote() {
			t.Errorf("%s: %+v", rule, r)
		}
	}
}

// A line that is a result already, or no call, is an error and has no result.
func TestLinesThatAreNoCalls(t *testing.T) {
	h := newHouse(t)
	lines := []string{`{"v":1,"kind":"tool_call","id":7,"tool":"time","args":{}}`}
	for _, name := range owned {
		lines = append(lines,
			fmt.Sprintf(`{"v":1,"kind":"tool_call","id":"call-1","tool":"time","args":{},%q:""}`, name))
	}
	for _, text := range lines {
		line, err := record.Parse([]byte(text))
		if err != nil {
			continue // the stage has refused it
		}
		if out, err := h.Executor.Run(t.Context(), line); err == nil || out != nil {
			t.Errorf("%s: %s", text, out)
		}
	}
}

// A call whose turn has ended does not begin. Its own gate's permit is used up by then, and the result names it.
func TestCancelledCallDoesNotBegin(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the turn is over"))
	for _, foreign := range []bool{false, true} {
		h := newHouse(t)
		call, claims := h.asked("file_write", record.RiskMedium, write)
		gate := h.gate
		if foreign {
			gate, claims.Executor = h.stranger(claims.PolicyHash), h.sealer.ID()
		}
		call.Verdict.Permit = h.sign(gate, claims)
		r, seal := h.send(ctx, call)
		if r.Status != record.StatusFailed || h.wrote() || !strings.Contains(r.Error, "the turn is over") ||
			r.Metadata.Permit != "" || seal.AuditID != "audit-1" ||
			strings.Contains(h.used(), claims.Nonce) == foreign {
			t.Errorf("foreign %v: %+v, %+v", foreign, r, seal)
		}
	}
}

// Keys that are missing, and a register that is none, end it before any call.
func TestOpenRefusesHalfAHome(t *testing.T) {
	for name, spoil := range map[string]func(cfg *config.Config) error{
		"key.unavailable": func(cfg *config.Config) error { return os.Remove(cfg.PermitPubPath()) },
		"permits.used": func(cfg *config.Config) error {
			return errors.Join(os.Remove(cfg.PermitsUsedPath()), os.Mkdir(cfg.PermitsUsedPath(), 0o700))
		},
		"seal key": func(cfg *config.Config) error {
			return errors.Join(os.RemoveAll(cfg.SealKeyDir()), os.WriteFile(cfg.SealKeyDir(), nil, 0o600))
		},
	} {
		h := newHouse(t)
		must(t, spoil(h.config))
		if _, err := Open(h.call, h.config, nil); err == nil ||
			!strings.Contains(fmt.Sprintf("%#v %v", err, err), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
