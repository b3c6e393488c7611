// Package provider asks language models: a mock that is part of clawsh, any server with an OpenAI-compatible
// /chat/completions endpoint, and a wrapper that falls back from one provider to the next.
//
// A Provider is made by New from the configuration. Keys are read from the environment when they are needed, sent to the
// provider's own address and nowhere else, and removed from everything that comes back: errors, payloads, texts.
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
	"clawsh/lib/record"
)

// Provider answers requests.
type Provider interface {
	// Name is the provider's name in the configuration; Kind its kind there.
	Name() string
	Kind() string
	// Capabilities says what the provider can do.
	Capabilities() Capabilities
	// Chat answers one request. The response bears provider, model, texts, calls, usage and payload; ids and times are the
	// caller's. With onDelta the answer is passed on piece by piece as well; an error of onDelta ends the request. Errors of the
	// provider are *Error.
	Chat(ctx context.Context, req *record.Request, onDelta func(text string) error) (*record.Response, error)
}

// Capabilities says what a provider can do.
type Capabilities struct {
	Streaming bool `json:"streaming"`
	Tools     bool `json:"tools"`
}

// Codes of an Error.
const (
	CodeTimeout     = "timeout"
	CodeNetwork     = "network"
	CodeAuth        = "auth"
	CodeRateLimit   = "rate_limit"
	CodeServer      = "server"
	CodeBadRequest  = "bad_request"
	CodeBadResponse = "bad_response"
	CodeTooLarge    = "too_large"
	CodeCancelled   = "cancelled"
	CodeConfig      = "config"
)

// Error is a provider's failure. Message says what failed and why, never a key; Status is the HTTP status, if there was one.
type Error struct {
	Provider, Code, Message, Hint string
	Status                        int
	Retryable                     bool
	Err                           error

	retryAfter time.Duration
	streamed   bool
}

// Error returns the provider's name and what failed.
func (e *Error) Error() string { return e.Provider + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Options are what a provider needs from its surroundings.
type Options struct {
	Getenv func(string) string
	Log    *slog.Logger
	HTTP   http.RoundTripper
	wait   func(ctx context.Context, d time.Duration) error // between tries; tests do not wait
}

// New makes the provider of that name.
func New(cfg *config.Config, name string, o Options) (Provider, error) {
	if o.wait == nil {
		o.wait = wait
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return build(cfg, name, o, nil)
}

func build(cfg *config.Config, name string, o Options, above []string) (Provider, error) {
	p, ok := cfg.Providers[name]
	if !ok {
		return nil, &Error{Provider: bounded(name), Code: CodeConfig, Message: "there is no provider of this name",
			Hint: "configured are: " + strings.Join(slices.Sorted(maps.Keys(cfg.Providers)), ", ")}
	}
	if slices.Contains(above, name) {
		return nil, &Error{Provider: name, Code: CodeConfig, Message: "it falls back to itself"}
	}
	switch p.Kind {
	case "mock":
		return newMock(cfg, name, p, o)
	case "openai-compatible":
		return newChat(cfg, name, p, o)
	case "reliable":
		r := &reliable{name: name, log: o.Log}
		for _, n := range p.Providers {
			inner, err := build(cfg, n, o, append(above, name))
			if err != nil {
				return nil, err
			}
			r.providers = append(r.providers, inner)
		}
		return r, nil
	}
	return nil, &Error{Provider: name, Code: CodeConfig, Message: fmt.Sprintf("kind %+q is not known", p.Kind)}
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

func bounded(s string) string {
	s = strings.Trim(fmt.Sprintf("%+q", s), `"`)
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// Info describes a configured provider. It names the variable that holds the key, never the key.
type Info struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Model     string `json:"model,omitzero"`
	BaseURL   string `json:"base_url,omitzero"`
	APIKeyEnv string `json:"api_key_env,omitzero"`
	APIKeySet bool   `json:"api_key_set"`
	Default   bool   `json:"default"`
}

// List describes all configured providers, by name.
func List(cfg *config.Config, getenv func(string) string) []Info {
	list := []Info{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		p := cfg.Providers[name]
		i := Info{Name: name, Kind: p.Kind, Model: p.Model, BaseURL: p.BaseURL, APIKeyEnv: p.APIKeyEnv, Default: name == cfg.DefaultProvider}
		if p.Kind == "reliable" {
			i.Model = strings.Join(p.Providers, ", then ")
		}
		i.APIKeySet = p.APIKeyEnv != "" && getenv(p.APIKeyEnv) != ""
		list = append(list, i)
	}
	return list
}

// TestReport is what a provider said to a test message.
type TestReport struct {
	Provider  string `json:"provider"`
	Kind      string `json:"kind"`
	Model     string `json:"model"`
	LatencyMS int64  `json:"latency_ms"`
	Text      string `json:"text"`
}

// Test sends one short message.
func Test(ctx context.Context, p Provider) (TestReport, error) {
	start := time.Now()
	resp, err := p.Chat(ctx, &record.Request{ID: record.NewID("req-"), Messages: []record.Message{{Role: "user", Content: "Answer with the word pong."}}}, nil)
	if err != nil {
		return TestReport{}, err
	}
	text := []rune(resp.FinalText)
	return TestReport{Provider: resp.Provider, Kind: p.Kind(), Model: resp.Model, LatencyMS: time.Since(start).Milliseconds(),
		Text: string(text[:min(len(text), 200)])}, nil
}
