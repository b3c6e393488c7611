package command

import (
	"errors"
	"fmt"

	"clawsh/lib/envelope"
	"clawsh/lib/terminal"
)

// guarded does something of the command's, and returns its panic as an error. Go would end the process with 2, and that
// code says that a limit was reached. For panics in goroutines that nobody recovers, and for what nobody can recover
// from, it still does.
func (p *program) guarded(do func() (Result, error)) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, envelope.Recovered(v)
		}
		var bug *envelope.Panic
		if errors.As(err, &bug) {
			p.trace(bug.Stack)
			err = envelope.Errorf(envelope.ExitError, "internal", "%w", bug).
				WithHint("this is a bug in %s: please report it, with the lines above", p.Name)
		}
	}()
	return do()
}

// trace shows where a panic came from.
func (p *program) trace(stack []byte) {
	text := p.secrets.Text(string(stack))
	if jsonLog(p.getenv) {
		newLogger(p.Name, p.stderr, p.getenv, p.secrets).Error("internal error", "event", "panicked", "stack", text)
		return
	}
	fmt.Fprint(p.stderr, terminal.Sanitize(text))
}
