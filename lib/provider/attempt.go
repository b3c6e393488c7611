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
	"syscall"

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

// attempt is one try of one request.
type attempt struct {
	*chat
	creds    credentials
	keys     keys
	model    string // that was asked for
	onDelta  func(string) error
	streamed bool // a part of the answer was passed on
}

// run sends the request and reads the answer. A watch ends the connection when nothing comes for too long.
func (a *attempt) run(caller context.Context, body []byte) (*record.Response, error) {
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	w := newWatch(cancel, a.timeout, a.barren)
	defer w.stop()
	r, err := a.request(ctx, http.MethodPost, "/chat/completions", accepted, body)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	res, err := a.http.Do(r)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, a.status(res)
	}
	src := &source{r: res.Body, left: int64(a.maxBytes) * streamFactor, came: w.came}
	in := bufio.NewReader(src)
	first, err := begin(in)
	if err != nil && err != io.EOF {
		return nil, a.transport(ctx, err)
	}
	p := streaming
	if first == '{' || first == '[' || first == '<' {
		p = growing
	}
	if !w.begin(p, a.idle) {
		return nil, a.transport(ctx, context.Cause(ctx))
	}
	switch first {
	case '{', '[': // whatever was asked for, and whatever the header says
		return a.whole(ctx, in)
	case '<':
		return nil, a.webPage(res, in)
	case 0:
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			return nil, a.malformed("the answer is empty")
		}
	}
	return a.stream(caller, ctx, in, w)
}

// begin skips a byte order mark and white space, and returns the first byte that means something, 0 at the end.
func begin(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.Peek(1)
		if err != nil {
			return 0, err
		}
		if b[0] == 0xef {
			if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
				in.Discard(3)
				continue
			}
		}
		if !strings.ContainsRune(" \t\r\n", rune(b[0])) {
			return b[0], nil
		}
		in.Discard(1)
	}
}

// source reads up to a limit and fails behind it, instead of pretending that the answer ends there.
type source struct {
	r    io.Reader
	left int64
	came func([]byte) // gets what came
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n > 0 && s.came != nil {
		s.came(p[:n])
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
	if e := a.listed(b); e != nil {
		return nil, e
	}
	var m completion
	if err := record.DecodeOpen(b, &m); err != nil {
		return nil, a.malformed("the answer is not what /chat/completions answers: " + err.Error())
	}
	if e := a.reported(m.Error); e != nil {
		return nil, e
	}
	build := a.builder()
	if err := build.whole(&m); err != nil {
		if len(m.Choices) == 0 {
			err = fmt.Errorf("%w: %s", err, a.complaint(b).text)
		}
		return nil, a.unfit(err)
	}
	build.rest()
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
		e := a.fail(CodeTimeout, quiet.Error())
		e.Hint = "if the model is slow and not stuck, raise timeout_s in [providers.models." + a.name + "]"
		return e
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
	if errors.Is(err, syscall.ECONNREFUSED) {
		e.Hint = "is the server running, and is base_url the right address?"
	}
	return e
}
