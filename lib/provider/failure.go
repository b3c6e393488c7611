package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxQuoteBytes = 300
	maxRetryAfter = 60 * time.Second
)

// errIdle is the cause by which a silent connection is ended.
type errIdle struct{ after time.Duration }

func (e errIdle) Error() string { return fmt.Sprintf("nothing came for %s", e.after) }

// fail makes an error of this provider, rid of the key.
func (a *attempt) fail(code string, retryable bool, err error) *Error {
	return &Error{Provider: a.name, Code: code, Message: a.scrub(printable(err.Error())), Retryable: retryable, Err: err, streamed: a.streamed, retryAfter: -1}
}

func (a *attempt) cancelled(ctx context.Context) *Error {
	return a.fail(CodeCancelled, false, fmt.Errorf("cancelled: %w", context.Cause(ctx)))
}

// transport explains why a request or the reading of its answer failed.
func (a *attempt) transport(ctx context.Context, err error) *Error {
	var idle errIdle
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &idle):
		return a.fail(CodeTimeout, true, cause)
	case cause != nil:
		return a.cancelled(ctx)
	case errors.Is(err, errTooLarge):
		return a.fail(CodeTooLarge, false, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return a.fail(CodeNetwork, true, errors.New("the connection was cut in the middle of the answer"))
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return a.fail(CodeTimeout, true, err)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // its address may be long, and the provider is named already
	}
	e := a.fail(CodeNetwork, true, err)
	e.Hint = "is the server running, and is base_url right?"
	return e
}

// status explains an answer that is not 200, quoting the beginning of what the server says.
func (a *attempt) status(res *http.Response) *Error {
	b, _ := io.ReadAll(io.LimitReader(res.Body, 8<<10))
	text := a.scrub(printable(string(bytes.TrimSpace(a.scrubBytes(b)))))
	if len(text) > maxQuoteBytes {
		text = text[:maxQuoteBytes] + "..."
	}
	e := &Error{Provider: a.name, Code: CodeBadRequest, Status: res.StatusCode, Message: strings.TrimSpace(fmt.Sprintf("HTTP %d: %s", res.StatusCode, text))}
	switch s := res.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Code = CodeAuth
		e.Hint = "is the key right?"
		if a.keyEnv != "" {
			e.Hint = "is the key in " + a.keyEnv + " right?"
		}
	case s == http.StatusTooManyRequests:
		e.Code, e.Retryable = CodeRateLimit, true
	case s == http.StatusRequestTimeout:
		e.Code, e.Retryable = CodeTimeout, true
	case s >= 500:
		e.Code, e.Retryable = CodeServer, true
	case s >= 300 && s < 400:
		e.Message = fmt.Sprintf("HTTP %d: it redirects, which is not followed: the key would go with it", s)
		e.Hint = "set base_url to where it redirects to"
	}
	e.retryAfter = retryAfter(res.Header.Get("Retry-After"), time.Now())
	return e
}

// retryAfter reads the header: seconds, or a date (RFC 9110, 10.2.3); -1 if it says nothing.
func retryAfter(h string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(h)); err == nil && n >= 0 {
		return min(time.Duration(min(n, 3600))*time.Second, maxRetryAfter)
	}
	if t, err := http.ParseTime(h); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter)
	}
	return -1
}

// backoff is the pause before the next try: what the server asked for, else half a second, doubled each time, give or take
// a half.
func backoff(try int, asked time.Duration) time.Duration {
	if asked >= 0 {
		return asked
	}
	d := 500 * time.Millisecond << min(try, 6)
	return d/2 + rand.N(d)
}

// scrub removes the key from a text.
func (a *attempt) scrub(s string) string {
	if len(a.key) < 4 {
		return s
	}
	return strings.ReplaceAll(s, a.key, "[redacted]")
}

func (a *attempt) scrubBytes(b []byte) []byte {
	if len(a.key) < 4 {
		return b
	}
	return bytes.ReplaceAll(b, []byte(a.key), []byte("[redacted]"))
}

// printable keeps what a server says to one line of printable ASCII.
func printable(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = ' '
		}
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
