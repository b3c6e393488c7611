package provider

import (
	"bytes"
	"context"
	"errors"
	"io"

	"clawsh/lib/record"
)

// errDone ends the reading at [DONE].
var errDone = errors.New("done")

// stream reads a streamed answer and passes its text on as it comes. An answer is whole once it has a finish_reason, even if
// the connection breaks behind it.
func (a *attempt) stream(caller, ctx context.Context, in io.Reader) (*record.Response, error) {
	b := a.builder()
	err := events(in, a.maxBytes, func(data []byte) error {
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			return errDone
		}
		return a.chunk(b, data)
	})
	var own *Error
	switch {
	case err == nil && b.finish == "":
		return nil, a.fail(CodeBadResponse, "the answer ended before it was complete")
	case err == nil, errors.Is(err, errDone):
	case errors.As(err, &own), errors.Is(err, errDelta):
		return nil, err
	default:
		e := a.transport(ctx, err)
		if b.finish == "" || caller.Err() != nil || e.Code != CodeNetwork && e.Code != CodeTimeout {
			return nil, e
		}
	}
	if err := a.pass(b.rest()); err != nil {
		return nil, err
	}
	resp, err := b.response()
	if err != nil {
		return nil, a.unfit(err)
	}
	return resp, nil
}

// chunk takes one event. Of several choices only the first is followed.
func (a *attempt) chunk(b *builder, data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var m completion
	if err := record.DecodeOpen(data, &m); err != nil {
		return a.fail(CodeBadResponse, "a piece of the answer is not what /chat/completions streams: "+err.Error())
	}
	if e := a.reported(m.Error); e != nil {
		return e
	}
	b.meta(&m)
	for _, c := range m.Choices {
		if c.Index != 0 {
			continue
		}
		text, err := b.add(c.Delta, c.FinishReason)
		if err != nil {
			return a.unfit(err)
		}
		if err := a.pass(text); err != nil {
			return err
		}
	}
	return nil
}
