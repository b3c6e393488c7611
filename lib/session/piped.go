package session

import (
	"context"
	"io"
	"time"
	"unicode/utf8"

	"clawsh/lib/envelope"
)

// maxPipedBytes bounds what is piped into a message: more than any model reads.
const maxPipedBytes = 1 << 20

// quietStdin is how long clawsh waits for a silent standard input before it says so.
const quietStdin = 2 * time.Second

// ReadPiped reads a message from standard input, to its end. A silent one is waited for, but not without telling.
func ReadPiped(ctx context.Context, in io.Reader, tell func(event, text string, attrs ...any)) (string, error) {
	told := time.AfterFunc(quietStdin, func() {
		tell("stdin_waited_for", "waiting for standard input to end (-n does not read it)")
	})
	defer told.Stop()
	var b []byte
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		b, err = io.ReadAll(io.LimitReader(in, maxPipedBytes+1))
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	switch {
	case err != nil:
		return "", envelope.Errorf(envelope.ExitError, "input.unreadable", "read standard input: %w", err).
			WithHint("-n does not read standard input")
	case len(b) > maxPipedBytes:
		return "", envelope.Errorf(envelope.ExitError, "input.too_large", "standard input is longer than %d bytes",
			maxPipedBytes).
			WithHint("send only a part of it, with head -c, tail -n or grep")
	case !utf8.Valid(b):
		return "", envelope.Errorf(envelope.ExitError, "input.not_text", "standard input is not UTF-8 text").
			WithHint("convert it, for example with iconv -t UTF-8, strings or base64")
	}
	return string(b), nil
}
