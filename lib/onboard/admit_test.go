package onboard

import (
	"testing"

	"clawsh/lib/config"
)

// TestDoes: the question about a directory says no more than the configuration keeps.
func TestDoes(t *testing.T) {
	const (
		asks  = "asks before every change and every program"
		reads = "; commands that only read run without a question"
		high  = ", risky ones included"
	)
	for _, c := range []struct{ autonomy, harmless, high, sandbox, want string }{
		{"supervised", "ask", "deny", "auto", asks}, {"supervised", "low", "deny", "auto", asks + reads},
		{"supervised", "low", "deny", "off", asks},
		{"supervised", "ask", "ask", "auto", asks + high}, {"supervised", "low", "ask", "auto", asks + high + reads},
		{"readonly", "ask", "ask", "auto", "changes nothing and runs no programs"},
		{"readonly", "low", "deny", "auto", "changes nothing and runs only commands that read"},
		{"full", "low", "deny", "auto", "asks only before it writes files that other programs run, such as .envrc"},
		{"full", "ask", "ask", "auto", "asks only before it writes files that other programs run, such as .envrc"},
	} {
		if got := does(config.Security{Autonomy: c.autonomy, Harmless: c.harmless, High: c.high,
			Sandbox: c.sandbox}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
