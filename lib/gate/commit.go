package gate

import (
	"fmt"
	"time"

	"clawsh/lib/audit"
	"clawsh/lib/permit"
	"clawsh/lib/record"
)

// commit makes the verdict final: it is written to the audit log, synced if the call is allowed, and only then signed.
// A crash before the sync leaves a call that never ran; one behind it, an audit line without a receipt, "outcome
// unknown". A verdict that cannot be audited or signed becomes a denial.
func (g *Gate) commit(call record.ToolCall, v record.Verdict) record.Verdict {
	now := time.Now().UTC()
	v.DecidedAt, v.AuditID = now.Format(record.TimeFormat), record.NewID("audit-")
	claims := permit.Claims{CallID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool,
		ArgsSHA256: record.HashBytes(call.Args), Risk: v.Risk, Decision: v.Decision, PolicyHash: v.PolicyHash,
		AuditID: v.AuditID, Executor: g.to, Obeyed: permit.Files(v.Obeyed)}
	if v.Decision == record.Allow {
		v.ExpiresAt = now.Add(permit.Lifetime).Format(record.TimeFormat)
		claims.ExpiresAt, claims.Nonce = v.ExpiresAt, permit.NewNonce()
	}
	if err := g.write(call, claims, v); err != nil {
		if v.Decision == record.Deny {
			g.unwritable(err)
			return v
		}
		return g.undo(call, claims, denied(v, "audit.failed", fmt.Sprintf("the audit log cannot be written: %v", err)))
	}
	if v.Decision != record.Allow {
		return v
	}
	var err error
	if v.Permit, err = g.signer.Sign(claims); err != nil {
		return g.undo(call, claims, denied(v, "permit.failed", fmt.Sprintf("the permit cannot be signed: %v", err)))
	}
	return v
}

// undo writes a denial behind a line that allowed a call and may be in the log, with its id: so nobody takes the call
// for one that was released and interrupted.
func (g *Gate) undo(call record.ToolCall, claims permit.Claims, v record.Verdict) record.Verdict {
	claims.ExpiresAt, claims.Nonce = "", ""
	if err := g.write(call, claims, v); err != nil && v.Rule != "audit.failed" { // its reason says so
		g.unwritable(err)
	}
	return v
}

// unwritable tells once why denials are not written down.
func (g *Gate) unwritable(err error) {
	if !g.told {
		g.told = true
		g.call.Log.Error("the audit log cannot be written", "error", err.Error())
	}
}

func denied(v record.Verdict, rule, reason string) record.Verdict {
	v.Decision, v.Rule, v.Reason, v.ExpiresAt, v.Permit = record.Deny, rule, reason, "", ""
	return v
}

func (g *Gate) write(call record.ToolCall, c permit.Claims, v record.Verdict) error {
	argsHash, _ := record.Hash(call.Args) // of what has no canonical form there is none
	line, err := record.Encode(audit.Line{V: record.Version, Kind: audit.Kind, ID: v.AuditID, TS: v.DecidedAt,
		CallID:         c.CallID,
		ConversationID: c.ConversationID, Tool: c.Tool, ArgsSHA256: c.ArgsSHA256, ArgsHash: argsHash,
		Decision: v.Decision, Risk: v.Risk, Rule: v.Rule,
		Reason: v.Reason, Approval: v.Approval, PolicyHash: v.PolicyHash, ExpiresAt: c.ExpiresAt, Nonce: c.Nonce})
	if err != nil {
		return err
	}
	if line, err = g.call.Withhold(line); err != nil {
		return fmt.Errorf("redact secrets in the audit line: %w", err)
	}
	return g.audit.Append(line, v.Decision == record.Allow)
}
