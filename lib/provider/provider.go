// Package provider asks language models: a built-in mock, any server with an OpenAI-compatible /chat/completions
// endpoint, and a wrapper that falls back from one provider to the next.
//
// New makes a Provider from the configuration; List describes all that are configured; Test sends one short message.
//
// Keys. A key is read from the environment variable that api_key_env names, and goes to base_url and nowhere else: no
// redirect is followed, no proxy of the environment is used, and over plain http it goes to this machine only. If a
// server sends it back, it becomes "[redacted]" in texts, calls, payloads, errors and logs. Values shorter than four
// bytes are placeholders and are not redacted.
//
// The wire. Every request asks for a stream; a server that does not stream is understood, too. timeout_s bounds
// silence: until the answer begins and, unless idle_timeout_s says otherwise, between two pieces of it. Comments,
// empty lines and blanks before an answer are signs of life, not silence, but a server that sends nothing else for 20
// times as long, and at least ten minutes, is abandoned. Without streaming, each byte counts. An answer longer than
// limits.max_response_bytes is the error too_large, never a shortened answer.
//
// What goes back. The message of an answer is kept in its original form (record.Original), with fields that only its
// server knows, and goes back unchanged to the provider of that name; others get a plain one. Calls keep the server's
// id beside clawsh's own. What a model writes between <think> and </think> at the beginning of its text is neither
// shown nor sent back.
//
// Tool calls. Arguments that are not a JSON object, have duplicate names or numbers that a double cannot represent,
// or nest deeper than record.MaxDepth-8, become a JSON string with the text that the model wrote, and the gate denies
// them; empty arguments are {}. A call without a name, and an answer without a message, is bad_response. An answer
// may be empty: the finish reason says why, if anything does. Calls in an answer that was cut off are not made.
//
// Retries. 429, 5xx and network errors are retried max_retries times, after the pause in Retry-After (at most a
// minute: there is no retry if a server wants more) or half a second, doubled each time, plus or minus half of it. A
// malformed answer is retried once. Nothing is retried after a piece of the answer was passed on. A field that the
// server rejects by name is left out from then on.
package provider

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/provider/dialect/chat"
	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// Provider answers requests. It is safe for concurrent use.
type Provider interface {
	// Name is the provider's name in the configuration; Kind its kind there.
	Name() string
	Kind() string
	// Capabilities says what the provider can do.
	Capabilities() Capabilities
	// Chat answers one request. The response has provider, model, text, calls, finish reason, usage and payload; the
	// caller sets its ids, version and time, except the ids of calls. With onDelta the text is also passed on in
	// pieces, which together are FinalText. An error of onDelta ends the request and is returned, wrapped. Errors of
	// the provider are *Error.
	Chat(ctx context.Context, req *record.Request, onDelta func(text string) error) (*record.Response, error)
}

// Capabilities says what a provider can do.
type Capabilities struct {
	Streaming bool `json:"streaming"`
	Tools     bool `json:"tools"`
}

// Options are what a provider needs from its surroundings.
type Options struct {
	// Getenv reads the environment; nil means an empty one.
	Getenv func(string) string
	// Log gets retries and fallbacks, at level warn; it may be nil.
	Log *slog.Logger
	// Secrets knows the values that no answer and no error may contain; the provider adds its own key.
	Secrets *secret.Redactor
	// HTTP carries requests; nil means a transport of the provider's own.
	HTTP http.RoundTripper

	wait func(ctx context.Context, d time.Duration) error // between attempts; tests do not wait
}

// New makes the provider of that name. Its errors are *Error with the code config: an unknown name, a cycle of
// fallbacks, an unusable fixture, a key that would be sent unencrypted.
func New(cfg *config.Config, name string, o Options) (Provider, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.wait == nil {
		o.wait = wait
	}
	return build(cfg, name, o, nil)
}

// dialects maps each kind of provider that is a server to its dialect. lib/config/kinds.go has what configuration and
// onboard need to know about kinds.
var dialects = map[string]dialect.Dialect{
	"openai-compatible": chat.Dialect{},
}

// build makes a provider; above are the wrappers around it, outermost first.
func build(cfg *config.Config, name string, o Options, above []string) (Provider, error) {
	p, ok := cfg.Providers[name]
	if !ok {
		return nil, &Error{Provider: short(name), Code: dialect.CodeConfig, Message: "there is no such provider",
			Hint: "configured: " + strings.Join(slices.Sorted(maps.Keys(cfg.Providers)), ", ")}
	}
	if slices.Contains(above, name) {
		return nil, &Error{Provider: name, Code: dialect.CodeConfig, Message: "falls back to itself: " +
			strings.Join(append(above, name), ", then "),
			Hint: "remove one of them from its list of providers"}
	}
	switch d, server := dialects[p.Kind]; {
	case server:
		return newServer(cfg, name, p, o, d)
	case p.Kind == "mock":
		return newMock(cfg, name, p, o)
	case p.Kind == "reliable":
		return newReliable(cfg, name, p, o, append(slices.Clone(above), name))
	}
	return nil, &Error{Provider: name, Code: dialect.CodeConfig,
		Message: fmt.Sprintf("kind %s is not known", short(p.Kind)),
		Hint:    "allowed are: " + strings.Join(config.ProviderKinds(), ", ")}
}

// wait sleeps, or ends with the context.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
