package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"clawsh/lib/record"
)

const (
	// streamFactor is how much longer than its text a stream may be: each token comes in a few hundred bytes of wrapping.
	streamFactor = 128
	// maxPayloadBytes bounds the payload that is kept with a response.
	maxPayloadBytes = 64 << 10
)

// errTooLarge is the end of an answer that is longer than allowed.
var errTooLarge = errors.New("the answer is longer than limits.max_response_bytes")

// silence is the cause by which a connection is ended on which nothing comes.
type silence struct {
	after time.Duration
	begun bool
}

// Error implements error.
func (s silence) Error() string {
	if s.begun {
		return fmt.Sprintf("nothing came for %s in the middle of the answer", s.after)
	}
	return fmt.Sprintf("no answer within %s", s.after)
}

// attempt is one try of one request.
type attempt struct {
	*chat
	key      string
	keys     keys
	model    string // that was asked for
	onDelta  func(string) error
	streamed bool // a part of the answer was passed on
}

// run sends the request and reads the answer. A timer ends the connection when nothing comes for too long.
func (a *attempt) run(caller context.Context, body []byte) (*record.Response, error) {
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	late := time.AfterFunc(a.timeout, func() { cancel(silence{a.timeout, false}) })
	defer late.Stop()
	res, err := a.send(ctx, body)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, a.status(res)
	}
	src := &source{r: res.Body, left: int64(a.maxBytes) * streamFactor}
	in := bufio.NewReader(src)
	// Some servers stream although nobody asked, and others do not although somebody did.
	sse := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	if first, _ := in.Peek(1); string(first) == "{" || !sse && a.onDelta == nil {
		return a.whole(ctx, in)
	}
	if !late.Stop() {
		return nil, a.transport(ctx, context.Cause(ctx))
	}
	idle := time.AfterFunc(a.idle, func() { cancel(silence{a.idle, true}) })
	defer idle.Stop()
	src.alive = func() { idle.Reset(a.idle) }
	return a.stream(caller, ctx, in)
}

func (a *attempt) send(ctx context.Context, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if a.onDelta != nil {
		r.Header.Set("Accept", "text/event-stream, application/json")
	}
	r.Header.Set("User-Agent", "clawsh")
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	return a.http.Do(r)
}

// source reads up to a limit and fails behind it, instead of pretending that the answer ends there.
type source struct {
	r     io.Reader
	left  int64
	alive func() // called when something came
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n > 0 && s.alive != nil {
		s.alive()
	}
	if s.left -= int64(n); s.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// whole reads an answer that is not streamed.
func (a *attempt) whole(ctx context.Context, in io.Reader) (*record.Response, error) {
	b, err := io.ReadAll(io.LimitReader(in, int64(a.maxBytes)+1))
	if err == nil && len(b) > a.maxBytes {
		err = errTooLarge
	}
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	var m completion
	if err := record.DecodeOpen(b, &m); err != nil {
		return nil, a.fail(CodeBadResponse, "the answer is not what /chat/completions answers: "+err.Error())
	}
	if e := a.reported(m.Error); e != nil {
		return nil, e
	}
	build := a.builder()
	if err := build.whole(&m); err != nil {
		return nil, a.unfit(err)
	}
	resp, err := build.response()
	if err != nil {
		return nil, a.unfit(err)
	}
	resp.RawProviderPayload = a.payload(b)
	return resp, a.pass(resp.FinalText)
}

// payload is the answer as it came, where that fits into a record and holds no key; else nothing.
func (a *attempt) payload(b []byte) record.Raw {
	if raw := record.Raw(bytes.TrimSpace(b)); len(raw) <= maxPayloadBytes && fits(raw) && !a.keys.hiddenIn(raw) {
		return raw
	}
	return nil
}

// errDelta marks a failure of the one who gets the pieces.
var errDelta = errors.New("pass a piece of the answer on")

// pass passes a piece of the text on.
func (a *attempt) pass(text string) error {
	if text == "" || a.onDelta == nil {
		return nil
	}
	a.streamed = true
	if err := a.onDelta(text); err != nil {
		return fmt.Errorf("%w: %w", errDelta, err)
	}
	return nil
}

// transport explains why a request or the reading of its answer failed.
func (a *attempt) transport(ctx context.Context, err error) *Error {
	var quiet silence
	var timeout interface{ Timeout() bool }
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(context.Cause(ctx), &quiet):
		return a.fail(CodeTimeout, quiet.Error())
	case ctx.Err() != nil:
		e := ended(a.name, ctx)
		e.streamed = a.streamed
		return e
	case errors.Is(err, errTooLarge):
		return a.fail(CodeTooLarge, err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return a.fail(CodeNetwork, "the connection was cut in the middle of the answer")
	case errors.As(err, &timeout) && timeout.Timeout():
		return a.fail(CodeTimeout, err.Error())
	}
	e := a.fail(CodeNetwork, err.Error())
	e.Err, e.final = known(err), errors.As(err, &untrusted)
	return e
}
