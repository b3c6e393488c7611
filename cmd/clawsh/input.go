package main

import (
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"clawsh/lib/envelope"
	"clawsh/lib/terminal"
)

// maxPipedBytes bounds what is piped into a message: more than any model reads.
const maxPipedBytes = 1 << 20

// quietStdin is how long clawsh waits for a silent standard input before it says so.
const quietStdin = 2 * time.Second

func stdinIsTerminal() bool { return terminal.IsTerminal(os.Stdin) }

// readPiped reads standard input to its end. A silent one is waited for, but not without telling.
func readPiped(in io.Reader, stderr io.Writer) (string, error) {
	told := time.AfterFunc(quietStdin, func() {
		fmt.Fprintln(stderr, "clawsh: waiting for standard input to end (-n leaves it alone)")
	})
	b, err := io.ReadAll(io.LimitReader(in, maxPipedBytes+1))
	told.Stop()
	switch {
	case err != nil:
		return "", envelope.Errorf(envelope.ExitError, "input.unreadable", "read standard input: %w", err).
			WithHint("-n leaves standard input alone")
	case len(b) > maxPipedBytes:
		return "", envelope.Errorf(envelope.ExitError, "input.too_large", "standard input is longer than %d bytes", maxPipedBytes).
			WithHint("send a part of it: head -c, tail -n, grep")
	case !utf8.Valid(b):
		return "", envelope.Errorf(envelope.ExitError, "input.not_text", "standard input is not UTF-8 text").
			WithHint("for example: iconv -t UTF-8, strings, base64")
	}
	return string(b), nil
}
