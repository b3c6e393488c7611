package provider

import (
	"net/http"
	"strings"

	"clawsh/lib/provider/dialect"
)

// advice returns what a person can do about an error.
func (a *attempt) advice(e *Error, said dialect.Complaint) string {
	switch e.Code {
	case dialect.CodeAuth:
		return a.authAdvice(e.Status)
	case dialect.CodeQuota:
		return "the account's quota is used up: check its plan and billing, or use another provider"
	case dialect.CodeRateLimit:
		return "too many requests: wait and try again, or use another provider or model"
	case dialect.CodeTooLong:
		return "the conversation is longer than the model's context: lower context.max_tokens below it, or start a new conversation (clawsh reset)"
	case dialect.CodeNoTools:
		return "use --no-tools, a model that supports tools, or enable tool calls when you start the server"
	case dialect.CodeNotFound:
		return "clawsh provider models " + a.server.name + " lists the server's models; set model to one of them"
	}
	switch {
	case said.Page, e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed:
		return a.urlAdvice()
	case e.Status == http.StatusUnprocessableEntity, e.Status == http.StatusBadRequest:
		return a.requestAdvice(said)
	}
	if e.Status >= 500 {
		return "the server failed: see its log, try again later, or use another provider"
	}
	return ""
}

func (a *attempt) authAdvice(status int) string {
	switch {
	case a.server.keyEnv == "" && len(a.server.headerEnv) == 0:
		return "if the server wants a key, name its environment variable in api_key_env"
	case status == http.StatusForbidden:
		return "the key is valid but lacks permission: check its rights, its project and the model's terms"
	case a.creds.key == "" && a.server.keyEnv != "":
		return "the environment variable " + a.server.keyEnv + " is not set: set it to the key before you start clawsh"
	}
	return "is the key in " + a.server.keyEnv + " the right one?"
}

// urlAdvice is for answers of something that is not an API.
func (a *attempt) urlAdvice() string {
	if !strings.HasSuffix(strings.TrimRight(a.server.base.Path, "/"), "/v1") && a.server.base.RawQuery == "" {
		return "base_url usually ends in /v1: try " + a.server.base.Scheme + "://" +
			a.server.base.Host + strings.TrimRight(a.server.base.Path, "/") + "/v1"
	}
	return "are base_url and model right? base_url is what comes before " + a.server.wire.Ask
}

func (a *attempt) requestAdvice(said dialect.Complaint) string {
	words := strings.ToLower(said.Text)
	for _, f := range []struct{ word, setting string }{{"temperature", "temperature"},
		{"max_tokens", "max_output_tokens"}, {"max_completion_tokens", "max_output_tokens"}} {
		if strings.Contains(words, f.word) {
			return "change " + f.setting + " in [providers.models." + a.server.name + "]"
		}
	}
	for _, f := range a.server.extra {
		if dialect.Mentions(words, f.Name) {
			return "change " + f.Name + " in the body table of [providers.models." + a.server.name + "]"
		}
	}
	if dialect.Has(words, "content") && dialect.Has(words, "filter", "policy", "moderation") {
		return "the provider rejects the content of the conversation: rephrase, or start a new conversation (clawsh reset)"
	}
	return "to see what was sent, set CLAWSH_TRACE=DIR: each request is copied there"
}
