package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoTerminal means that there is nobody to ask: the process has no controlling terminal.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// errClosed means that the terminal went away before an answer came.
var errClosed = errors.New("the terminal was closed")

// tooLong is the error for an answer of more bytes than this.
type tooLong int

// Error implements error.
func (most tooLong) Error() string {
	return fmt.Sprintf("the answer is longer than %d bytes", int(most))
}

// slips is how many invalid answers to a question are forgiven.
const slips = 3

// maxConfirmBytes is how long an answer to Confirm may be: nothing longer can be a yes.
const maxConfirmBytes = 64

// Confirm asks a yes-or-no question on /dev/tty and returns true for a line that is y or yes, in any case, and for
// nothing else: not for an empty line, not for letters without a newline before the end of input, and not for a line
// of pasted text. The prompt is shown unchanged: the caller must escape untrusted text (Escape). It is shown once
// nothing is being typed any more and no other process has a question open on the same terminal; earlier input is
// discarded. If ctx ends, so does the question, and the error is its cause; ErrNoTerminal means that nobody could be
// asked.
func Confirm(ctx context.Context, prompt string) (bool, error) {
	t, err := begin(ctx)
	if err != nil {
		return false, err
	}
	defer t.close()
	if err := t.hush(ctx); err != nil {
		return false, err
	}
	answer, whole, err := t.ask(ctx, prompt, maxConfirmBytes)
	answer = strings.ToLower(strings.TrimSpace(answer))
	if err != nil || !whole || answer != "y" && answer != "yes" {
		return false, err
	}
	return t.alone(ctx)
}

// Choose is like Confirm, for a question with more answers than yes. It returns one of them, in lower case and
// without blanks around it, or "" for an empty line and at the end of input. To any other line, and to an answer that
// more text follows at once, it shows what remind says, and asks again, three times at most, then it returns "". It
// discards typed-ahead input each time, and pasted text with it, however slowly that arrives: it is one invalid
// answer.
func Choose(ctx context.Context, prompt string, answers []string, remind func(given string) string) (string, error) {
	t, err := begin(ctx)
	if err != nil {
		return "", err
	}
	defer t.close()
	for try := 0; ; try++ {
		if err := t.hush(ctx); err != nil {
			return "", err
		}
		line, whole, err := t.ask(ctx, prompt, maxConfirmBytes)
		long := errors.Is(err, tooLong(maxConfirmBytes))
		if err != nil && !long {
			return "", err
		}
		answer := strings.ToLower(strings.TrimSpace(line))
		if whole && answer == "" {
			return "", nil
		}
		if whole && slices.Contains(answers, answer) {
			if alone, err := t.alone(ctx); alone || err != nil {
				return answer, err
			}
		}
		if !whole && !long || try == slips {
			return "", nil
		}
		prompt = remind(answer)
	}
}

// AskText asks for a line of free text on /dev/tty, of at most maxBytes bytes, and returns it without its newline. It
// discards what was typed before, but unlike Confirm it does not wait until nothing is being typed, and takes what is
// pasted: any line is an answer, so never let one permit anything. The end of input (^D) ends the line, too. A longer
// line is an error. The terminal's own limit for a line is 4095 bytes on Linux and 1024 on macOS: what is typed beyond
// does not arrive. The prompt, other processes' questions, and the end of ctx are as with Confirm.
func AskText(ctx context.Context, prompt string, maxBytes int) (string, error) {
	t, err := begin(ctx)
	if err != nil {
		return "", err
	}
	defer t.close()
	answer, _, err := t.ask(ctx, prompt, maxBytes)
	return answer, err
}

// begin opens the terminal, unless nobody waits for an answer any more.
func begin(ctx context.Context) (*tty, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return openTTY(ctx)
}

// ask asks one question. whole tells that the answer was ended with a newline.
func (t *tty) ask(ctx context.Context, prompt string, maxBytes int) (answer string, whole bool, err error) {
	if err := t.write(ctx, prompt); err != nil {
		return "", false, fmt.Errorf("ask on the terminal: %w", err)
	}
	answer, whole, err = t.line(ctx, maxBytes)
	if err != nil {
		// The cursor is behind the question. ctx may have ended; a terminal that is stopped stays as it is.
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		t.write(gone, "\n")
		flushInput(t.fd) // half an answer must not be taken for the beginning of what is typed next
	}
	return answer, whole, err
}

// line reads up to the first newline or the end of input.
func (t *tty) line(ctx context.Context, maxBytes int) (text string, whole bool, err error) {
	var line []byte
	for {
		var buf [512]byte
		n, err := t.read(ctx, buf[:])
		if err != nil {
			return "", false, fmt.Errorf("wait for an answer: %w", err)
		}
		line = append(line, buf[:n]...)
		text, rest, whole := bytes.Cut(line, []byte("\n"))
		t.crowded = len(rest) > 0
		if len(text) > maxBytes {
			return "", false, tooLong(maxBytes)
		}
		if whole || n == 0 {
			return string(text), whole, nil
		}
	}
}
