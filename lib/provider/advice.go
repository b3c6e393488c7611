package provider

import (
	"net/http"
	"strings"
)

// advice is what a person can do about an error.
func (a *attempt) advice(e *Error, said complaint) string {
	switch e.Code {
	case CodeAuth:
		return a.authAdvice(e.Status)
	case CodeQuota:
		return "the account's quota is used up: check its plan and billing, or use another provider"
	case CodeRateLimit:
		return "too many requests: wait a little, or use another provider or model"
	case CodeTooLong:
		return "the conversation is longer than the model's context: lower context.max_tokens below it, or start a new conversation (clawsh reset)"
	case CodeNoTools:
		return "use --no-tools, a model that supports tools, or enable tool calls when you start the server"
	case CodeNotFound:
		return "clawsh provider models " + a.name + " lists the server's models; set model to one of them"
	}
	switch {
	case said.page, e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed:
		return a.urlAdvice()
	case e.Status == http.StatusUnprocessableEntity, e.Status == http.StatusBadRequest:
		return a.requestAdvice(said)
	}
	return ""
}

func (a *attempt) authAdvice(status int) string {
	switch {
	case a.keyEnv == "" && len(a.headerEnv) == 0:
		return "if the server wants a key, name its environment variable in api_key_env"
	case status == http.StatusForbidden:
		return "the key is valid but lacks permission: check its rights, its project and the model's terms"
	case a.creds.key == "" && a.keyEnv != "":
		return "the environment variable " + a.keyEnv + " is not set: set it to the key before you start clawsh"
	}
	return "is the key in " + a.keyEnv + " the right one?"
}

// urlAdvice is for answers of something that is no API.
func (a *attempt) urlAdvice() string {
	if !strings.HasSuffix(strings.TrimRight(a.base.Path, "/"), "/v1") && a.base.RawQuery == "" {
		return "base_url usually ends in /v1: try " + a.base.Scheme + "://" + a.base.Host + strings.TrimRight(a.base.Path, "/") + "/v1"
	}
	return "are base_url and model right? base_url is what comes before /chat/completions"
}

func (a *attempt) requestAdvice(said complaint) string {
	words := strings.ToLower(said.text)
	for _, f := range []struct{ word, setting string }{{"temperature", "temperature"}, {"max_tokens", "max_output_tokens"}, {"max_completion_tokens", "max_output_tokens"}} {
		if strings.Contains(words, f.word) {
			return "change " + f.setting + " in [providers.models." + a.name + "]"
		}
	}
	for _, f := range a.extra {
		if mentions(words, f.Name) {
			return "change " + f.Name + " in the body table of [providers.models." + a.name + "]"
		}
	}
	if strings.Contains(words, "content") && has(words, "filter", "policy", "moderation") {
		return "the provider rejects the content of the conversation: rephrase, or start a new conversation (clawsh reset)"
	}
	return "CLAWSH_TRACE=DIR keeps a copy of each request"
}
