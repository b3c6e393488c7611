package main

import (
	"testing"

	"clawsh/lib/config"
)

// TestDoes: the question about a directory says no more than the configuration keeps.
func TestDoes(t *testing.T) {
	const asks, reads, high = "asks before it changes a file or runs a program", "; commands that only read run unasked", ", one of high risk, too"
	for _, c := range []struct{ autonomy, harmless, high, sandbox, want string }{
		{"supervised", "ask", "deny", "auto", asks}, {"supervised", "low", "deny", "auto", asks + reads}, {"supervised", "low", "deny", "off", asks},
		{"supervised", "ask", "ask", "auto", asks + high}, {"supervised", "low", "ask", "auto", asks + high + reads},
		{"readonly", "ask", "ask", "auto", "changes nothing and runs no programs"},
		{"readonly", "low", "deny", "auto", "changes nothing and runs only commands that read"},
		{"full", "low", "deny", "auto", "changes files and runs programs without asking"},
		{"full", "ask", "ask", "auto", "changes files and runs programs without asking"},
	} {
		if got := does(config.Security{Autonomy: c.autonomy, Harmless: c.harmless, High: c.high, Sandbox: c.sandbox}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
