package provider

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"clawsh/lib/record"
)

// events calls f with the data of each server-sent event (HTML Living Standard, 9.2): lines end in LF, CRLF or CR; several
// data lines of an event are joined by newlines; comments and other fields are skipped. An event that the end of the stream
// cuts off is dropped.
func events(in io.Reader, f func(data []byte) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), record.MaxLineBytes)
	lines.Split(sseLines)
	var data []byte
	has := false
	for lines.Scan() {
		line := lines.Bytes()
		switch {
		case len(line) == 0:
			if has {
				if err := f(data); err != nil {
					return err
				}
			}
			data, has = data[:0], false
		case bytes.HasPrefix(line, []byte("data:")) || bytes.Equal(line, []byte("data")):
			value := bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("data")), []byte(":"))
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
	}
	return lines.Err()
}

// sseLines splits at LF, CRLF and CR. A CR at the end of what has come so far waits for what follows.
func sseLines(b []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0 && atEOF && len(b) > 0:
		return len(b), b, nil
	case i < 0:
		return 0, nil, nil
	case b[i] == '\n':
		return i + 1, b[:i], nil
	case i+1 < len(b) && b[i+1] == '\n':
		return i + 2, b[:i], nil
	case i+1 < len(b) || atEOF:
		return i + 1, b[:i], nil
	}
	return 0, nil, nil
}

// errDone ends the reading at [DONE].
var errDone = errors.New("done")

// stream reads a streamed answer and passes its text on as it comes. alive is called for each event.
func (a *attempt) stream(ctx context.Context, in io.Reader, alive func()) (*record.Response, error) {
	b := builder{attempt: a}
	err := events(in, func(data []byte) error {
		alive()
		if string(data) == "[DONE]" {
			return errDone
		}
		return b.chunk(a.scrubBytes(data))
	})
	var own *Error
	switch {
	case errors.Is(err, errDone), err == nil && b.finish != "":
		return b.response()
	case err == nil:
		return nil, a.fail(CodeNetwork, true, errors.New("the answer ended in the middle"))
	case errors.As(err, &own), errors.Is(err, errDelta):
		return nil, err
	}
	return nil, a.transport(ctx, err)
}

// errDelta marks a failure of the one who gets the pieces.
var errDelta = errors.New("pass a piece of the answer on")

// chunk takes one event.
func (b *builder) chunk(data []byte) error {
	var m completion
	if err := record.DecodeOpen(data, &m); err != nil {
		return b.fail(CodeBadResponse, false, fmt.Errorf("a piece of the answer is not what /chat/completions streams: %w", err))
	}
	if len(m.Error) > 0 && string(m.Error) != "null" {
		return b.fail(CodeServer, true, fmt.Errorf("the server reports an error: %.300s", m.Error))
	}
	b.meta(&m)
	if len(m.Choices) == 0 {
		return nil
	}
	before := b.text.Len()
	if err := b.add(m.Choices[0].Delta, m.Choices[0].FinishReason); err != nil {
		return err
	}
	if text := b.text.String()[before:]; text != "" && b.onDelta != nil {
		b.streamed = true
		if err := b.onDelta(b.scrub(text)); err != nil {
			return fmt.Errorf("%w: %w", errDelta, err)
		}
	}
	return nil
}
