package dialect

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// Codes of failures.
const (
	CodeTimeout     = "timeout"
	CodeNetwork     = "network"
	CodeAuth        = "auth"
	CodeRateLimit   = "rate_limit"
	CodeServer      = "server"
	CodeQuota       = "quota"
	CodeNotFound    = "not_found"
	CodeNoTools     = "no_tools"
	CodeTooLong     = "too_long"
	CodeBadRequest  = "bad_request"
	CodeBadResponse = "bad_response"
	CodeTooLarge    = "too_large"
	CodeCancelled   = "cancelled"
	CodeConfig      = "config"
)

// Complaint is what a server says about a failure: its message, the status and error code in it, and whether it is a
// web page. It contains no key. Code is one of this package's.
type Complaint struct {
	Text, Word, Code string
	Status           int
	Page             bool
}

// Error returns the server's words.
func (c *Complaint) Error() string { return "the server reports an error: " + c.Text }

// ReadComplaint reads the body of an error response, in any form that servers and proxies use.
func ReadComplaint(status int, b []byte, k Keys) Complaint {
	c := readComplaint(b, k)
	c.Code = codeOf(status, c)
	return c
}

func readComplaint(b []byte, k Keys) Complaint {
	b = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(b), []byte("\xef\xbb\xbf")))
	if isPage(b) {
		return Complaint{Text: k.Quote(title(b), MaxQuoteBytes), Page: true}
	}
	return k.nested(record.Raw(b), maxNesting)
}

// Reported reads an error inside an answer with status 200.
func Reported(b []byte, k Keys) *Complaint {
	c := readComplaint(b, k)
	c.Code = CodeServer
	if c.Status != 0 || c.Word != "" {
		c.Code = codeOf(c.Status, c)
	}
	return &c
}

func isPage(b []byte) bool {
	b = bytes.ToLower(b[:min(len(b), 256)])
	return bytes.HasPrefix(b, []byte("<!doctype html")) || bytes.HasPrefix(b, []byte("<html")) ||
		bytes.HasPrefix(b, []byte("<head"))
}

// title returns a page's title, or its heading.
func title(page []byte) string {
	text := strings.ToValidUTF8(string(page), "")
	small := strings.ToLower(text)
	for _, tag := range []string{"title", "h1"} {
		from := strings.Index(small, "<"+tag)
		to := strings.Index(small, "</"+tag)
		if len(small) != len(text) || from < 0 || to < from {
			continue
		}
		if _, inner, ok := strings.Cut(text[from:to], ">"); ok {
			return inner
		}
	}
	return ""
}

// maxNesting limits how deep errors are nested in errors.
const maxNesting = 6

// nested reads a text, an object with a message or an error in it, or an array of those.
func (k Keys) nested(raw record.Raw, depth int) Complaint {
	if s, ok := Text(raw); ok {
		return k.textual(s, depth)
	}
	if all, err := record.Elements(raw); err == nil && len(all) > 0 && depth > 0 {
		return k.details(raw, all, depth)
	}
	var o struct {
		Error   record.Raw `json:"error"`
		Errors  record.Raw `json:"errors"`
		Message record.Raw `json:"message"`
		Msg     record.Raw `json:"msg"`
		Detail  record.Raw `json:"detail"`
		Type    record.Raw `json:"type"`
		Code    record.Raw `json:"code"`
		Status  record.Raw `json:"status"`
	}
	if record.DecodeOpen(raw, &o) != nil || depth == 0 {
		return Complaint{Text: k.Verbatim(raw)}
	}
	var c Complaint
	for _, inner := range []record.Raw{o.Error, o.Message, o.Msg, o.Detail, o.Errors} {
		if Given(inner) && string(inner) != `""` {
			c = k.nested(inner, depth-1)
			break
		}
	}
	if c.Text == "" {
		return Complaint{Text: k.Verbatim(raw)}
	}
	for _, field := range []record.Raw{o.Code, o.Status, o.Type} {
		c.take(k, field)
	}
	return c
}

// take keeps a code: a status if it is one, otherwise a word.
func (c *Complaint) take(k Keys, raw record.Raw) {
	text := strings.Trim(string(raw), `"`)
	if n, err := strconv.Atoi(text); err == nil {
		if n >= 400 && n <= 599 && c.Status == 0 {
			c.Status = n
		}
		return
	}
	if s, ok := Text(raw); ok {
		c.Word = strings.TrimSpace(c.Word + " " + k.Quote(strings.ToLower(s), 80))
	}
}

// textual reads a text. Some proxies put the JSON of another server into it.
func (k Keys) textual(s string, depth int) Complaint {
	if i := strings.IndexByte(s, '{'); i >= 0 && depth > 0 {
		if inner := record.Raw(strings.TrimSpace(s[i:])); Fits(inner) {
			if c := k.nested(inner, depth-1); c.Text != "" {
				c.Text = k.Quote(s[:i]+c.Text, MaxQuoteBytes)
				return c
			}
		}
	}
	return Complaint{Text: k.Quote(s, MaxQuoteBytes)}
}

// details are several errors, each with its position in the request.
func (k Keys) details(raw record.Raw, all []record.Raw, depth int) Complaint {
	var c Complaint
	var texts []string
	for _, one := range all[:min(len(all), 3)] {
		inner := k.nested(one, depth-1)
		var at struct {
			Loc []record.Raw `json:"loc"`
		}
		text := inner.Text
		if record.DecodeOpen(one, &at) == nil && len(at.Loc) > 0 {
			var path []string
			for _, p := range at.Loc {
				path = append(path, strings.Trim(string(p), `"`))
			}
			text = strings.Join(path, ".") + ": " + text
		}
		texts = append(texts, text)
		c.Status, c.Word = cmp.Or(c.Status, inner.Status), cmp.Or(c.Word, inner.Word)
	}
	c.Text = k.Quote(strings.Join(texts, "; "), MaxQuoteBytes)
	if c.Text == "" {
		c.Text = k.Verbatim(raw)
	}
	return c
}

// codeOf returns the error code for a status and a server's message.
func codeOf(status int, said Complaint) string {
	words := strings.ToLower(said.Text + " " + said.Word)
	request := status == 0 || status >= 400 && status < 500 && status != http.StatusUnauthorized &&
		status != http.StatusRequestTimeout
	switch {
	case status == http.StatusPaymentRequired, (request || status == http.StatusForbidden) && quota(words):
		return CodeQuota
	case status == http.StatusTooManyRequests, status == 0 && strings.Contains(words, "rate_limit"):
		return CodeRateLimit
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == 0 &&
		Has(words, "invalid_api_key", "authentication"):
		return CodeAuth
	case status == http.StatusRequestTimeout:
		return CodeTimeout
	case status == http.StatusRequestEntityTooLarge, tooLong(words):
		return CodeTooLong
	case (request || Has(words, "--jinja")) && noTools(words):
		return CodeNoTools
	case request && noModel(status, words):
		return CodeNotFound
	case status >= 500 && status != http.StatusNotImplemented, status == 0:
		return CodeServer
	}
	return CodeBadRequest
}

// Has reports whether a text contains one of the parts.
func Has(words string, parts ...string) bool {
	for _, w := range parts {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// quota distinguishes an account that is used up from one that asks too fast.
func quota(words string) bool {
	return Has(words, "insufficient_quota", "billing_hard_limit", "insufficient balance", "insufficient credit",
		"insufficient funds", "credit balance", "billing_not_active") ||
		Has(words, "exceeded your current quota") && !Has(words, "retry in", "per minute", "perminute")
}

func tooLong(words string) bool {
	return Has(words, "context_length", "context length", "maximum context", "context window", "context size",
		"prompt is too long", "too many tokens", "input is too long",
		"exceeds the available context", "exceed_context", "reduce the length", "maximum input length",
		"too many input tokens", "string_above_max_length")
}

// noTools reports whether the message is about tools, and not about a field with tool in its name.
func noTools(words string) bool {
	words = strings.NewReplacer("parallel_tool_calls", "", "tool_choice", "", "tool_calls", "").Replace(words)
	return Has(words, "tool", "function call") &&
		Has(words, "does not support", "do not support", "doesn't support", "not supported", "unsupported",
			"no endpoints found that support",
			"enable-auto-tool-choice", "not enabled", "requires --jinja", "tools param requires")
}

func noModel(status int, words string) bool {
	return Has(words, "model_not_found", "modelnotfound") || Has(words, "model") &&
		Has(words, "not found", "does not exist", "not exist", "unknown model", "invalid model", "no such model",
			"not a valid model", "model not", "not loaded", "is not available", "no longer available")
}
