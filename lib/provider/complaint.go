package provider

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// complaint is what a server says about a failure: its words, the status and the word for programs that stand among them, and
// whether it is a web page. It holds no key.
type complaint struct {
	text, word string
	status     int
	page       bool
}

// complaint reads the body of an error, in any of the forms that servers have for it.
func (a *attempt) complaint(b []byte) complaint {
	b = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(b), []byte("\xef\xbb\xbf")))
	if isPage(b) {
		return complaint{text: a.quote(title(b), maxQuoteBytes), page: true}
	}
	return a.complaintOf(record.Raw(b))
}

func isPage(b []byte) bool {
	b = bytes.ToLower(b[:min(len(b), 256)])
	return bytes.HasPrefix(b, []byte("<!doctype html")) || bytes.HasPrefix(b, []byte("<html")) || bytes.HasPrefix(b, []byte("<head"))
}

// title is a page's title, or its heading.
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

// maxNesting bounds how deep errors stand in errors.
const maxNesting = 6

func (a *attempt) complaintOf(raw record.Raw) complaint { return a.nested(raw, maxNesting) }

// nested reads a text, an object with a message or an error in it, or an array of those.
func (a *attempt) nested(raw record.Raw, depth int) complaint {
	if s, ok := asText(raw); ok {
		return a.textual(s, depth)
	}
	if all, err := record.Elements(raw); err == nil && len(all) > 0 && depth > 0 {
		return a.details(raw, all, depth)
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
		return complaint{text: a.verbatim(raw)}
	}
	var c complaint
	for _, inner := range []record.Raw{o.Error, o.Message, o.Msg, o.Detail, o.Errors} {
		if given(inner) && string(inner) != `""` {
			c = a.nested(inner, depth-1)
			break
		}
	}
	if c.text == "" {
		return complaint{text: a.verbatim(raw)}
	}
	for _, field := range []record.Raw{o.Code, o.Status, o.Type} {
		c.take(a, field)
	}
	return c
}

// take keeps a code: a status where it is one, else a word.
func (c *complaint) take(a *attempt, raw record.Raw) {
	text := strings.Trim(string(raw), `"`)
	if n, err := strconv.Atoi(text); err == nil {
		if n >= 400 && n <= 599 && c.status == 0 {
			c.status = n
		}
		return
	}
	if s, ok := asText(raw); ok {
		c.word = strings.TrimSpace(c.word + " " + a.quote(strings.ToLower(s), 80))
	}
}

// textual is a text. Some proxies put the JSON of another server into it.
func (a *attempt) textual(s string, depth int) complaint {
	if i := strings.IndexByte(s, '{'); i >= 0 && depth > 0 {
		if inner := record.Raw(strings.TrimSpace(s[i:])); fits(inner) {
			if c := a.nested(inner, depth-1); c.text != "" {
				c.text = a.quote(s[:i]+c.text, maxQuoteBytes)
				return c
			}
		}
	}
	return complaint{text: a.quote(s, maxQuoteBytes)}
}

// details are several errors, each with the place in the request where it is.
func (a *attempt) details(raw record.Raw, all []record.Raw, depth int) complaint {
	var c complaint
	var texts []string
	for _, one := range all[:min(len(all), 3)] {
		inner := a.nested(one, depth-1)
		var at struct {
			Loc []record.Raw `json:"loc"`
		}
		text := inner.text
		if record.DecodeOpen(one, &at) == nil && len(at.Loc) > 0 {
			var path []string
			for _, p := range at.Loc {
				path = append(path, strings.Trim(string(p), `"`))
			}
			text = strings.Join(path, ".") + ": " + text
		}
		texts = append(texts, text)
		c.status, c.word = cmp.Or(c.status, inner.status), cmp.Or(c.word, inner.word)
	}
	c.text = a.quote(strings.Join(texts, "; "), maxQuoteBytes)
	if c.text == "" {
		c.text = a.verbatim(raw)
	}
	return c
}

// verbatim quotes bytes as they are, unless they are JSON that spells the key with escapes.
func (a *attempt) verbatim(b []byte) string {
	var raw record.Raw
	if record.Decode(b, &raw) == nil && a.keys.hiddenIn(raw) && !a.keys.Found(b) {
		return withheld
	}
	return a.quote(string(b), maxQuoteBytes)
}

// codeOf says what a status means, together with what the server says.
func codeOf(status int, said complaint) string {
	words := strings.ToLower(said.text + " " + said.word)
	request := status == 0 || status >= 400 && status < 500 && status != http.StatusUnauthorized && status != http.StatusRequestTimeout
	switch {
	case status == http.StatusPaymentRequired, (request || status == http.StatusForbidden) && quota(words):
		return CodeQuota
	case status == http.StatusTooManyRequests, status == 0 && strings.Contains(words, "rate_limit"):
		return CodeRateLimit
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == 0 && has(words, "invalid_api_key", "authentication"):
		return CodeAuth
	case status == http.StatusRequestTimeout:
		return CodeTimeout
	case status == http.StatusRequestEntityTooLarge, tooLong(words):
		return CodeTooLong
	case (request || has(words, "--jinja")) && noTools(words):
		return CodeNoTools
	case request && noModel(status, words):
		return CodeNotFound
	case status >= 500 && status != http.StatusNotImplemented, status == 0:
		return CodeServer
	}
	return CodeBadRequest
}

func has(words string, parts ...string) bool {
	for _, w := range parts {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// quota tells an account that is used up from one that asks too fast.
func quota(words string) bool {
	return has(words, "insufficient_quota", "billing_hard_limit", "insufficient balance", "insufficient credit", "insufficient funds", "credit balance", "billing_not_active") ||
		has(words, "exceeded your current quota") && !has(words, "retry in", "per minute", "perminute")
}

func tooLong(words string) bool {
	return has(words, "context_length", "context length", "maximum context", "context window", "context size", "prompt is too long", "too many tokens", "input is too long",
		"exceeds the available context", "exceed_context", "reduce the length", "maximum input length", "too many input tokens", "string_above_max_length")
}

// noTools is about tools, not about a field that has tool in its name.
func noTools(words string) bool {
	words = strings.NewReplacer("parallel_tool_calls", "", "tool_choice", "", "tool_calls", "").Replace(words)
	return has(words, "tool", "function call") && has(words, "does not support", "do not support", "doesn't support", "not supported", "unsupported", "no endpoints found that support",
		"enable-auto-tool-choice", "not enabled", "requires --jinja", "tools param requires")
}

func noModel(status int, words string) bool {
	return has(words, "model_not_found", "modelnotfound") || has(words, "model") &&
		has(words, "not found", "does not exist", "not exist", "unknown model", "invalid model", "no such model", "not a valid model", "model not", "not loaded", "is not available", "no longer available")
}
