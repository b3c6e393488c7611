package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"clawsh/lib/provider/dialect"
)

const maxErrorBodyBytes = 8 << 10

// fail makes an error of this attempt. The message may quote the server: it is made printable and keys are removed.
func (a *attempt) fail(code, message string) *Error {
	return &Error{Provider: a.server.name, Code: code, Message: a.keys.Quote(message, 3*dialect.MaxQuoteBytes),
		Retryable: transient(code), streamed: a.streamed, retryAfter: -1}
}

// malformed returns the error for something that is not an answer.
func (a *attempt) malformed(message string) *Error {
	e := a.fail(dialect.CodeBadResponse, message)
	e.malformed = true
	return e
}

// unfit returns the error for an answer that cannot be used.
func (a *attempt) unfit(err error) *Error {
	var told *dialect.Complaint
	switch {
	case errors.As(err, &told):
		return a.report(*told)
	case errors.Is(err, dialect.ErrTooLarge):
		return a.fail(dialect.CodeTooLarge, err.Error())
	case errors.Is(err, dialect.ErrFailed):
		return a.fail(dialect.CodeServer, err.Error())
	}
	return a.malformed(err.Error())
}

// status explains an answer whose status is not a success.
func (a *attempt) status(res *http.Response) *Error {
	s := res.StatusCode
	if s >= 300 && s < 400 {
		e := a.fail(dialect.CodeBadRequest,
			fmt.Sprintf("HTTP %d: a redirect, which clawsh does not follow, because it would send the key there", s))
		e.Status, e.Hint = s, "set base_url to the target of the redirect"
		return e
	}
	said := a.said(s, res.Body)
	e := a.explain(s, said)
	e.retryAfter = asksToWait(res.Header, time.Now())
	e.wantsToWait()
	return e
}

// explain is the error for a status and what the server said with it.
func (a *attempt) explain(status int, said dialect.Complaint) *Error {
	e := a.fail(said.Code, "")
	e.Status, e.said = status, said.Text
	e.Message = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	switch {
	case said.Page && said.Text != "":
		e.Message += fmt.Sprintf(": a web page (%s)", said.Text)
	case said.Page:
		e.Message += ": a web page"
	case said.Text != "":
		e.Message += ": " + said.Text
	}
	e.Retryable = transient(e.Code)
	e.Hint = a.advice(e, said)
	return e
}

// asksToWait returns how long the server wants us to wait.
func asksToWait(h http.Header, now time.Time) time.Duration {
	if ms := retryAfter(h.Get("Retry-After-Ms"), now); ms >= 0 {
		return ms / 1000
	}
	return retryAfter(h.Get("Retry-After"), now)
}

// said reads an error's body. A key that was cut in two at its end would not be recognised, so whatever could be one
// is removed.
func (a *attempt) said(status int, body io.Reader) dialect.Complaint {
	b, _ := io.ReadAll(io.LimitReader(body, maxErrorBodyBytes))
	if len(b) == maxErrorBodyBytes && len(b) > a.creds.longest {
		b = b[:len(b)-a.creds.longest]
	}
	return a.server.dialect.Complaint(status, b, a.keys)
}

// report returns the error for a complaint inside an answer with status 200.
func (a *attempt) report(said dialect.Complaint) *Error {
	e := a.fail(said.Code, said.Error())
	e.Status, e.said = said.Status, said.Text
	e.Hint = a.advice(e, said)
	return e
}

// webPage returns the error for an answer that is a web page.
func (a *attempt) webPage(res *http.Response, in io.Reader) *Error {
	said := a.said(res.StatusCode, in)
	e := a.fail(dialect.CodeBadResponse, "base_url points to a web page, not to an API")
	if said.Text != "" {
		e.Message += fmt.Sprintf(" (%s)", said.Text)
	}
	e.Status, e.Hint = res.StatusCode, a.urlAdvice()
	return e
}
