package session

import (
	"strings"
	"testing"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// TestDeniedError: nobody asked is said only where nobody was there, and what a model got wrong is not named first.
func TestDeniedError(t *testing.T) {
	wrong := record.Denial{Tool: "wrong", Rule: "args.invalid", Approval: "not_required"}
	refused := record.Denial{Tool: "refused", Rule: "path.workspace", Approval: "refused"}
	for rule, want := range map[string]string{"policy.changed": "send the message again",
		"estop":        "clawsh estop --clear",
		"audit.failed": "clawsh doctor", "permit.failed": "clawsh doctor", "path.workspace": "clawsh policy"} {
		for _, approval := range []string{"granted", "session", "not_required", "unavailable"} {
			first := record.Denial{Tool: "first", Rule: rule, Approval: approval}
			for _, all := range [][]record.Denial{{first}, {wrong, first}, {refused, wrong, first, first}} {
				e := envelope.From(deniedError(all))
				if strings.Contains(e.Message, "without asking anyone") != (approval == "unavailable") ||
					!strings.Contains(e.Message, ": first: ") || !strings.Contains(e.Hint, want) ||
					e.Exit != envelope.ExitDenied {
					t.Errorf("%s, %s: %+v", rule, approval, e)
				}
			}
		}
	}
}
