package provider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"clawsh/lib/record"
)

const (
	maxQuoteBytes     = 300
	maxErrorBodyBytes = 8 << 10
)

// fail makes an error of this try. The message may quote the server: it is made printable, and rid of the key.
func (a *attempt) fail(code, message string) *Error {
	return &Error{Provider: a.name, Code: code, Message: a.quote(message, 3*maxQuoteBytes), Retryable: transient(code), streamed: a.streamed, retryAfter: -1}
}

// quote is the beginning of what somebody else wrote. The key goes first, while it is still in one piece.
func (a *attempt) quote(s string, most int) string {
	s = a.keys.scrub(printable(a.keys.scrub(s)))
	if len(s) > most {
		return clip(s, most) + "..."
	}
	return s
}

// unfit is the error for an answer that cannot be used.
func (a *attempt) unfit(err error) *Error {
	if errors.Is(err, errTooLarge) {
		return a.fail(CodeTooLarge, err.Error())
	}
	return a.fail(CodeBadResponse, err.Error())
}

// status explains an answer that is no success.
func (a *attempt) status(res *http.Response) *Error {
	s := res.StatusCode
	e := a.fail(codeOf(s), "")
	e.Status, e.retryAfter = s, retryAfter(res.Header.Get("Retry-After"), time.Now())
	if s >= 300 && s < 400 {
		e.Message = fmt.Sprintf("HTTP %d: a redirect, which is not followed: the key would go with it", s)
		e.Hint = "set base_url to where it points"
		return e
	}
	e.Message = fmt.Sprintf("HTTP %d %s", s, http.StatusText(s))
	if text := a.said(res.Body); text != "" {
		e.Message += ": " + text
	}
	switch {
	case e.Code == CodeAuth && a.keyEnv != "":
		e.Hint = "is the key in " + a.keyEnv + " the right one?"
	case e.Code == CodeAuth:
		e.Hint = "if the server wants a key, name its environment variable in api_key_env"
	case s == http.StatusNotFound:
		e.Hint = "are base_url and model right?"
	}
	return e
}

// codeOf maps an HTTP status.
func codeOf(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return CodeAuth
	case status == http.StatusTooManyRequests:
		return CodeRateLimit
	case status == http.StatusRequestTimeout:
		return CodeTimeout
	case status >= 500:
		return CodeServer
	}
	return CodeBadRequest
}

// said is the beginning of an error's body.
func (a *attempt) said(body io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(body, maxErrorBodyBytes))
	if len(b) == maxErrorBodyBytes && len(b) > len(a.key) {
		b = b[:len(b)-len(a.key)] // a key that was cut in two would not be recognised
	}
	b = bytes.TrimSpace(b)
	var m struct {
		Error   record.Raw `json:"error"`
		Message string     `json:"message"`
	}
	if err := record.DecodeOpen(b, &m); err == nil && (len(m.Error) > 0 || m.Message != "") {
		if given(m.Error) {
			text, _ := a.explained(m.Error)
			return text
		}
		return a.quote(m.Message, maxQuoteBytes)
	}
	return a.verbatim(b)
}

// verbatim quotes bytes as they are, unless they are JSON that spells the key with escapes.
func (a *attempt) verbatim(b []byte) string {
	var raw record.Raw
	if record.Decode(b, &raw) == nil && a.keys.hiddenIn(raw) && !a.keys.Found(b) {
		return withheld
	}
	return a.quote(string(b), maxQuoteBytes)
}

// given tells whether an optional JSON value is there.
func given(raw record.Raw) bool { return len(raw) > 0 && string(raw) != "null" }

// explained reads the error object of an answer: {"message":…,"code":…} with a code that is an HTTP status in some servers
// and a word in others, or just a text.
func (a *attempt) explained(raw record.Raw) (text string, status int) {
	if s, ok := asText(raw); ok {
		return a.quote(s, maxQuoteBytes), 0
	}
	var o struct {
		Message string     `json:"message"`
		Type    string     `json:"type"`
		Code    record.Raw `json:"code"`
	}
	if record.DecodeOpen(raw, &o) != nil || o.Message == "" {
		return a.verbatim(raw), 0
	}
	if record.DecodeOpen(o.Code, &status) != nil || status < 400 || status > 599 {
		status = 0
	}
	if status == 0 && strings.Contains(o.Type+string(o.Code), "rate_limit") {
		status = http.StatusTooManyRequests
	}
	return a.quote(o.Message, maxQuoteBytes), status
}

// reported is the error that a server reports inside of an answer, after it has said 200; nil if there is none.
func (a *attempt) reported(raw record.Raw) *Error {
	if !given(raw) {
		return nil
	}
	text, status := a.explained(raw)
	code := CodeServer
	if status != 0 {
		code = codeOf(status)
	}
	e := a.fail(code, "the server reports an error: "+text)
	e.Status = status
	return e
}
