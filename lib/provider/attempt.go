package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

const (
	// streamFactor is how much longer than its text a stream may be: each token comes in a few hundred bytes of
	// wrapping.
	streamFactor = 128
	// maxPayloadBytes limits the payload that is kept with a response.
	maxPayloadBytes = 64 << 10
)

// attempt is one try of one request.
type attempt struct {
	server   *server
	creds    credentials
	keys     dialect.Keys
	model    string // that was asked for
	onDelta  func(string) error
	streamed bool // a part of the answer was passed on
}

// run sends the request and reads the answer. A watch ends the connection when nothing arrives for too long.
func (a *attempt) run(caller context.Context, body []byte) (*record.Response, error) {
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	w := newWatch(cancel, a.server.timeout, a.server.barren)
	defer w.stop()
	r, err := a.request(ctx, http.MethodPost, a.server.wire.Ask, accepted, body)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	res, err := a.server.http.Do(r)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, a.status(res)
	}
	src := &source{r: res.Body, left: int64(a.server.maxBytes) * streamFactor, came: w.came}
	in := bufio.NewReader(src)
	first, err := begin(in)
	if err != nil && err != io.EOF {
		return nil, a.transport(ctx, err)
	}
	p := streaming
	if first == '{' || first == '[' || first == '<' {
		p = growing
	}
	if !w.begin(p, a.server.idle) {
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

// begin skips a byte order mark and white space, and returns the first other byte, or 0 at the end.
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

// source reads up to a limit and then fails, instead of pretending that the answer ends there.
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
		return 0, dialect.ErrTooLarge
	}
	return n, err
}

// whole reads an answer that is not streamed.
func (a *attempt) whole(ctx context.Context, in io.Reader) (*record.Response, error) {
	b, err := io.ReadAll(io.LimitReader(in, int64(a.server.maxBytes)+1))
	if err == nil && len(b) > a.server.maxBytes {
		err = dialect.ErrTooLarge
	}
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	r := a.reading()
	text, err := r.Whole(b)
	if err != nil {
		return nil, a.unfit(err)
	}
	r.next(text)
	r.rest()
	resp, err := a.end(r, b)
	if err != nil {
		return nil, err
	}
	return resp, a.pass(resp.FinalText)
}

// payload returns the answer as received if it fits into a record and contains no key, otherwise nil.
func (a *attempt) payload(b []byte) record.Raw {
	if raw := record.Raw(bytes.TrimSpace(b)); len(raw) <= maxPayloadBytes && dialect.Fits(raw) &&
		!a.keys.HiddenIn(raw) {
		return raw
	}
	return nil
}

// errDelta marks a failure of the receiver of the pieces.
var errDelta = errors.New("write a chunk of the answer")

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
		e := a.fail(dialect.CodeTimeout, quiet.Error())
		e.Hint = "if the model is only slow, raise timeout_s in [providers.models." + a.server.name + "]"
		return e
	case ctx.Err() != nil:
		e := ended(a.server.name, ctx)
		e.streamed = a.streamed
		return e
	case errors.Is(err, dialect.ErrTooLarge):
		return a.fail(dialect.CodeTooLarge, err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return a.fail(dialect.CodeNetwork, "the connection was closed in the middle of the answer")
	case errors.As(err, &timeout) && timeout.Timeout():
		return a.fail(dialect.CodeTimeout, err.Error())
	}
	e := a.fail(dialect.CodeNetwork, err.Error())
	e.Err, e.final = known(err), errors.As(err, &untrusted)
	if errors.Is(err, syscall.ECONNREFUSED) {
		e.Hint = "is the server running, and is base_url the right address?"
	}
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		e.Hint = "is the host in base_url right, and does this machine have a network connection?"
	}
	return e
}
