package executor

import (
	"context"
	"fmt"
	"testing"

	"clawsh/lib/permit"
	"clawsh/lib/record"
)

// A call that nobody waited for any more is not denied: it has not begun, and its permit is as good as before.
func TestUndecidedCallIsNotDenied(t *testing.T) {
	call := record.ToolCall{Verdict: &record.Verdict{AuditID: "audit-1"}}
	for _, c := range []struct {
		err            error
		status, permit string
	}{
		{fmt.Errorf("%w: %w", errUndecided, context.Canceled), record.StatusFailed, ""},
		{fmt.Errorf("%w: denied by the policy of this host", errPolicy), record.StatusDenied, record.PermitInvalid},
		{fmt.Errorf("permit: %w", permit.ErrUsed), record.StatusDenied, record.PermitUsed},
		{fmt.Errorf("permit: %w", permit.ErrExpired), record.StatusDenied, record.PermitExpired},
	} {
		if o := unpermitted(call, c.err); o.status != c.status || o.Meta.Permit != c.permit || o.Success {
			t.Errorf("%v: %+v", c.err, o)
		}
	}
}
