package manual

import (
	"fmt"
	"strings"

	"clawsh/lib/envelope"
)

// ExitCodes is the page of exit codes.
func ExitCodes() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n" + made)
	b.WriteString("Of all programs and all commands. They are frozen: scripts may branch on them. Why a command failed, its error code says:\n" +
		"see [SCHEMAS.md](SCHEMAS.md#error-codes).\n\n| exit | meaning |\n|---|---|\n")
	for _, e := range envelope.ExitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Means)
	}
	return b.String()
}
