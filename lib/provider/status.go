package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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

// malformed is the error for an answer that is none.
func (a *attempt) malformed(message string) *Error {
	e := a.fail(CodeBadResponse, message)
	e.malformed = true
	return e
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
	switch {
	case errors.Is(err, errTooLarge):
		return a.fail(CodeTooLarge, err.Error())
	case errors.Is(err, errFinish):
		return a.fail(CodeServer, err.Error())
	}
	return a.malformed(err.Error())
}

// status explains an answer that is no success.
func (a *attempt) status(res *http.Response) *Error {
	s := res.StatusCode
	if s >= 300 && s < 400 {
		e := a.fail(CodeBadRequest, fmt.Sprintf("HTTP %d: a redirect, which is not followed: the key would go with it", s))
		e.Status, e.Hint = s, "set base_url to where it points"
		return e
	}
	said := a.said(res.Body)
	e := a.explain(s, said)
	e.retryAfter = asksToWait(res.Header, time.Now())
	e.wantsToWait()
	return e
}

// explain is the error for a status and what the server said with it.
func (a *attempt) explain(status int, said complaint) *Error {
	e := a.fail(codeOf(status, said), "")
	e.Status, e.said = status, said.text
	e.Message = fmt.Sprintf("HTTP %d %s", status, http.StatusText(status))
	switch {
	case said.page && said.text != "":
		e.Message += fmt.Sprintf(": a web page (%s)", said.text)
	case said.page:
		e.Message += ": a web page"
	case said.text != "":
		e.Message += ": " + said.text
	}
	e.Retryable = transient(e.Code)
	e.Hint = a.advice(e, said)
	return e
}

// asksToWait is how long the server wants to be left alone.
func asksToWait(h http.Header, now time.Time) time.Duration {
	if ms := retryAfter(h.Get("Retry-After-Ms"), now); ms >= 0 {
		return ms / 1000
	}
	return retryAfter(h.Get("Retry-After"), now)
}

// said reads an error's body. A key that was cut in two at its end would not be recognised: what could be one goes.
func (a *attempt) said(body io.Reader) complaint {
	b, _ := io.ReadAll(io.LimitReader(body, maxErrorBodyBytes))
	if len(b) == maxErrorBodyBytes && len(b) > a.creds.longest {
		b = b[:len(b)-a.creds.longest]
	}
	return a.complaint(b)
}

// given tells whether an optional JSON value is there.
func given(raw record.Raw) bool { return len(raw) > 0 && string(raw) != "null" }

// reported is the error that a server reports inside of an answer, after it has said 200; nil if there is none.
func (a *attempt) reported(raw record.Raw) *Error {
	if !given(raw) || string(raw) == `""` || string(raw) == "false" || string(raw) == "{}" {
		return nil
	}
	return a.report(a.complaintOf(raw))
}

// report is the error for a complaint that came after 200.
func (a *attempt) report(said complaint) *Error {
	code := CodeServer
	if said.status != 0 || said.word != "" {
		code = codeOf(said.status, said)
	}
	e := a.fail(code, "the server reports an error: "+said.text)
	e.Status, e.said = said.status, said.text
	e.Hint = a.advice(e, said)
	return e
}

// told is the error of an event whose name is error.
func (a *attempt) told(data []byte) *Error { return a.report(a.complaint(data)) }

// listed is the error that some servers put into an array; nil if there is none.
func (a *attempt) listed(b []byte) *Error {
	elements, err := record.Elements(b)
	if err != nil || len(elements) == 0 {
		return nil
	}
	var m struct {
		Error record.Raw `json:"error"`
	}
	if record.DecodeOpen(elements[0], &m) != nil {
		return nil
	}
	return a.reported(m.Error)
}

// webPage is the error for an answer that is a web page.
func (a *attempt) webPage(res *http.Response, in io.Reader) *Error {
	said := a.said(in)
	e := a.fail(CodeBadResponse, "base_url leads to a web page, not to an API")
	if said.text != "" {
		e.Message += fmt.Sprintf(" (%s)", said.text)
	}
	e.Status, e.Hint = res.StatusCode, a.urlAdvice()
	return e
}
