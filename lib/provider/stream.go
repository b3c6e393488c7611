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
// the connection breaks after it, or is only kept alive.
func (a *attempt) stream(caller, ctx context.Context, in io.Reader, w *watch) (*record.Response, error) {
	b := a.builder()
	kept := payload{}
	err := events(in, a.maxBytes, func(event string, data []byte) error {
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			return errDone
		}
		if event == "error" {
			return a.told(data)
		}
		if len(bytes.TrimSpace(data)) > 0 {
			w.part()
		}
		kept.add(data)
		err := a.chunk(b, data)
		if b.finish != "" {
			w.phase = complete
		}
		return err
	})
	var own *Error
	switch {
	case err == nil && b.finish == "":
		return nil, a.malformed("the answer ended before it was complete")
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
	resp.RawProviderPayload = a.payload(kept.value())
	return resp, nil
}

// payload are the pieces of a stream, as an array, while they are few.
type payload struct{ pieces []byte }

func (p *payload) add(data []byte) {
	if len(p.pieces) <= maxPayloadBytes && len(bytes.TrimSpace(data)) > 0 {
		p.pieces = append(append(p.pieces, ','), data...)
	}
}

func (p *payload) value() []byte {
	if len(p.pieces) == 0 {
		return nil
	}
	return append(append([]byte{'['}, p.pieces[1:]...), ']')
}

// chunk takes one event. Of several choices only the first is followed.
func (a *attempt) chunk(b *builder, data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var m completion
	if err := record.DecodeOpen(data, &m); err != nil {
		if e := a.listed(data); e != nil {
			return e
		}
		return a.malformed("a piece of the answer is not what /chat/completions streams: " + err.Error())
	}
	if e := a.reported(m.Error); e != nil {
		return e
	}
	b.meta(&m)
	for _, c := range m.Choices {
		if !c.first() {
			continue
		}
		piece := c.Delta
		if !given(piece) && !b.seen {
			piece = c.Message // the whole, in one piece
		}
		text, err := b.add(piece, c.FinishReason, !given(c.Delta))
		if err != nil {
			return a.unfit(err)
		}
		if err := a.pass(text); err != nil {
			return err
		}
	}
	return nil
}
