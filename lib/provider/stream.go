package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// reading is an answer that is being read, and its text without keys.
type reading struct {
	dialect.Answer
	clean *secret.Stream
	text  strings.Builder
}

func (a *attempt) reading() *reading {
	return &reading{Answer: a.server.dialect.Answer(dialect.Limits{Bytes: a.server.maxBytes, Keys: a.keys}),
		clean: a.keys.NewStream()}
}

// next takes a piece of the text and returns as much as can be passed on.
func (r *reading) next(text string) string {
	text = r.clean.Next(text)
	r.text.WriteString(text)
	return text
}

// rest ends the text and returns what was held back of it.
func (r *reading) rest() string {
	text := r.next(r.Rest())
	last := r.clean.Rest()
	r.text.WriteString(last)
	return text + last
}

// end makes the response. It contains the original answer, if that can be kept.
func (a *attempt) end(r *reading, came []byte) (*record.Response, error) {
	reply, err := r.Reply(r.text.String())
	if err != nil {
		return nil, a.unfit(err)
	}
	resp, err := a.response(reply, r.text.String())
	if err != nil {
		return nil, a.unfit(err)
	}
	resp.RawProviderPayload = a.payload(came)
	return resp, nil
}

// stream reads a streamed answer and passes its text on as it arrives. A complete answer remains one if the
// connection breaks after it, or is only kept alive.
func (a *attempt) stream(caller, ctx context.Context, in io.Reader, w *watch) (*record.Response, error) {
	r := a.reading()
	kept := payload{}
	err := events(in, a.server.maxBytes, func(event string, data []byte) error {
		if w.phase != complete && len(bytes.TrimSpace(data)) > 0 {
			w.part()
		}
		text, err := r.Event(event, data)
		if errors.Is(err, dialect.ErrDone) {
			return err
		}
		if err != nil {
			return a.unfit(err)
		}
		kept.add(data)
		if r.Complete() {
			w.phase = complete
		}
		return a.pass(r.next(text))
	})
	var own *Error
	switch {
	case err == nil && !r.Complete():
		return nil, a.malformed("the answer ended before it was complete")
	case err == nil, errors.Is(err, dialect.ErrDone):
	case errors.As(err, &own), errors.Is(err, errDelta):
		return nil, err
	default:
		e := a.transport(ctx, err)
		if !r.Complete() || caller.Err() != nil || e.Code != dialect.CodeNetwork && e.Code != dialect.CodeTimeout {
			return nil, e
		}
	}
	if err := a.pass(r.rest()); err != nil {
		return nil, err
	}
	return a.end(r, kept.value())
}

// payload returns the pieces of a stream as an array, if they are few.
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
