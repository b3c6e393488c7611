package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawsh/lib/permit"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/tool"
)

// unpermitted is the result of a call whose permit is not good. One that is only too old is still the gate's word about
// this call.
func unpermitted(call record.ToolCall, err error) outcome {
	if errors.Is(err, errUndecided) {
		o := failed("%v", err)
		o.audit = call.Verdict.AuditID
		return o
	}
	o := denied("denied: %v", err)
	o.Meta.Permit = record.PermitInvalid
	switch {
	case errors.Is(err, permit.ErrUsed):
		o.Meta.Permit = record.PermitUsed
	case errors.Is(err, permit.ErrExpired):
		o.Meta.Permit, o.audit = record.PermitExpired, call.Verdict.AuditID
	case errors.Is(err, errPolicy):
		o.audit = call.Verdict.AuditID
	}
	return o
}

// admit checks that the permit is for exactly this call, and that it was not used before. It returns what it permits.
func (e *Executor) admit(ctx context.Context, call record.ToolCall) (policy.Permitted, error) {
	with := policy.Permitted{Risk: call.Verdict.Risk, Obeyed: call.Verdict.Obeyed}
	now := time.Now()
	claims, err := e.gates.Verify(call.Verdict.Permit,
		permit.Claims{CallID: call.ID, ConversationID: call.ConversationID,
			Tool: call.Tool, ArgsSHA256: record.HashBytes(call.Args), Risk: call.Verdict.Risk, Decision: record.Allow,
			PolicyHash: call.Verdict.PolicyHash, AuditID: call.Verdict.AuditID,
			Obeyed: permit.Files(call.Verdict.Obeyed)},
		now)
	if err != nil {
		return with, fmt.Errorf("permit: %w", err)
	}
	if err := e.inForce(ctx, call, claims); errors.Is(err, errUndecided) {
		return with, err
	} else if err != nil {
		return with, fmt.Errorf("%w: %w", errPolicy, err)
	}
	expires, err := time.Parse(record.TimeFormat, claims.ExpiresAt)
	if err != nil {
		return with, fmt.Errorf("permit: invalid expiry time: %w", err)
	}
	if err := e.register.Use(claims.Nonce, expires, now); err != nil {
		return with, fmt.Errorf("permit: %w", err)
	}
	return with, nil
}

// errUndecided: nobody waited any more for what this host's policy says. The permit is still good, and was not used up.
var errUndecided = errors.New("cancelled before it started")

// errPolicy: the permit is the gate's, and the policy in force here does not let it count.
var errPolicy = errors.New("permit")

// inForce checks that a permit's policy is the one in force. That of another host's gate is one that was accepted with
// its key, and what this host's own policy denies, does not run for it either: only here is it known where paths lead.
func (e *Executor) inForce(ctx context.Context, call record.ToolCall, claims permit.Claims) (err error) {
	if e.policy, err = e.force.Policy(); err != nil {
		return err
	}
	own := e.gates.Own(claims)
	switch {
	case own &&
		claims.PolicyHash != e.policy.Hash(): // even if somebody has accepted this home's gate as that of another
		return errors.New("it was signed under another policy than the one in force here; make the call again")
	case !own && !e.gates.Accepts(claims):
		return fmt.Errorf("its policy is not accepted here; run claw-gate keys on the host of gate %s, and claw-exec accept with its output on this one", claims.HomeID)
	}
	if own {
		return nil
	}
	d := e.policy.DecideFor(ctx, policy.Call{ID: call.ID, ConversationID: call.ConversationID, Tool: call.Tool,
		Args: call.Args})
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUndecided, err)
	}
	if d.Outcome == policy.Deny {
		return fmt.Errorf("denied by the policy of this host: %s", d.Reason)
	}
	return nil
}

// guard asks the policy again while a call runs that was permitted.
func (e *Executor) guard(with policy.Permitted) tool.Guard {
	return func(ctx context.Context, kind, dir string, argv []string) error {
		if kind == tool.GuardExec {
			return e.policy.ExecIn(ctx, dir, argv, with)
		}
		if kind == tool.GuardAlone {
			if e.policy.Alone(ctx, dir, argv) {
				return nil
			}
			return tool.ErrMayStart
		}
		if kind == tool.GuardOpenWrite && with.Risk == record.RiskLow {
			return tool.ErrReadOnly
		}
		return e.policy.Access(ctx, argv[0], kind == tool.GuardOpenWrite, with)
	}
}
