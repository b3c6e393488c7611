package session

import (
	"cmp"
	"io"
	"os"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Answer is the answer of one turn: the final record.
type Answer struct {
	record.Final
	shown bool
}

// IsAnswer implements envelope.Answer: what there is of an answer is where an answer is.
func (Answer) IsAnswer() bool { return true }

// WriteText prints the answer, if the channel has not shown it.
func (a Answer) WriteText(w io.Writer) error {
	if a.shown || a.Content == "" {
		return nil
	}
	text := a.Content
	if terminal.IsTerminal(os.Stdout) {
		text = terminal.Sanitize(text)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(text, "\n")+"\n")
	return err
}

// Failure says why a turn ends with an exit code other than 0, or with the one of the signal that ended it.
func (s *Session) Failure(f record.Final) error {
	if s.unread {
		return command.Exit(envelope.ExitPipe)
	}
	if sig := s.signalled(); sig != nil && f.StopReason == record.StopCancelled {
		e := interrupted(*sig)
		e.Message = cmp.Or(f.Error, e.Message)
		return e
	}
	return failure(f)
}

// failure says why a turn ends with an exit code other than 0.
func failure(f record.Final) error {
	code := loop.ExitCode(f)
	switch {
	case code == envelope.ExitOK:
		return nil
	case code == envelope.ExitSandbox:
		return envelope.Errorf(code, "sandbox.unavailable", "a program was not run: %s", terminal.Escape(f.Unconfined)).
			WithHint("clawsh policy shows which sandboxes work on this machine")
	case code == envelope.ExitDenied:
		return deniedError(f.Denials)
	case f.Error == "":
		return command.Exit(code)
	}
	return &envelope.Error{Code: f.ErrorCode, Message: f.Error, Hint: f.Hint, Exit: code}
}

func deniedError(denials []record.Denial) error {
	var real []record.Denial
	unattended := true
	for _, d := range denials {
		if loop.Complains(d) {
			real = append(real, d)
			unattended = unattended && d.Approval == record.ApprovalUnavailable
		}
	}
	if len(real) == 0 {
		return command.Exit(envelope.ExitDenied)
	}
	first, what, nobody := real[0], "a tool call was denied", ""
	if unattended {
		nobody = " without asking anyone"
	}
	if what += nobody; len(real) > 1 {
		what = spelling.Count(len(real), "tool call") + " were denied" + nobody + ", the first"
	}
	e := envelope.Errorf(envelope.ExitDenied, "denied", "answered, but %s: %s: %s (%s)", what,
		terminal.Escape(first.Tool),
		terminal.Escape(first.Reason), first.Rule)
	e.Note = true
	return e.WithHint("%s", denialHint(first.Rule))
}

// denialHint says what to do about a denial.
func denialHint(rule string) string {
	switch {
	case rule == "command.unlisted":
		return `to be asked instead, add the program to security.allowed_commands or set security.high = "ask"; clawsh policy shows the policy in force`
	case rule == "estop":
		return "once it is safe, run: clawsh estop --clear"
	case rule == "policy.changed":
		return "send the message again"
	case strings.HasPrefix(rule, "audit."), strings.HasPrefix(rule, "permit."):
		return "to see what is wrong, run: clawsh doctor"
	}
	return "clawsh policy shows the policy in force, clawsh receipt list what was done"
}
