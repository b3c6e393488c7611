package provider

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// Info describes a configured provider. It names the variable with the key, never the key. The model of a wrapper is
// the list of its providers.
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
		i := Info{Name: name, Kind: p.Kind, Model: p.Model, BaseURL: p.BaseURL, APIKeyEnv: p.APIKeyEnv,
			Default: name == cfg.DefaultProvider}
		if p.Kind == "reliable" {
			i.Model = strings.Join(p.Providers, ", then ")
		}
		i.APIKeySet = p.APIKeyEnv != "" && strings.TrimSpace(getenv(p.APIKeyEnv)) != ""
		list = append(list, i)
	}
	return list
}

// maxTestBytes limits the text of a TestReport as escaped by terminal.Escape.
const maxTestBytes = 200

// TestReport is a provider's answer to a test message. Text is the beginning of the answer, not escaped; escaped it
// has at most 200 bytes.
type TestReport struct {
	Provider  string `json:"provider"`
	Kind      string `json:"kind"`
	Model     string `json:"model"`
	LatencyMS int64  `json:"latency_ms"`
	Text      string `json:"text"`
}

// Test sends one short message and returns the answer. Provider is the one that answered, even behind a wrapper.
// Reasoning without an answer passes the test; an empty response does not.
func Test(ctx context.Context, p Provider) (TestReport, error) {
	start := time.Now()
	resp, err := p.Chat(ctx, &record.Request{V: record.Version, Kind: record.KindRequest, ID: record.NewID("req-"),
		Messages: []record.Message{{Role: "user", Content: "Answer with the word pong."}}}, nil)
	if err != nil {
		return TestReport{}, err
	}
	if strings.TrimSpace(resp.FinalText) == "" && resp.Reasoning == "" {
		return TestReport{}, &Error{Provider: resp.Provider, Code: dialect.CodeBadResponse,
			Message: "returned an empty answer", Hint: "is " + short(resp.Model) + " a model for conversations?"}
	}
	return TestReport{Provider: resp.Provider, Kind: p.Kind(), Model: resp.Model, LatencyMS: time.Since(start).
		Milliseconds(),
		Text: beginning(resp.FinalText)}, nil
}

// beginning returns as much of a text as fits into maxTestBytes when escaped.
func beginning(s string) string {
	s = record.Cut(s, maxTestBytes)
	for len(terminal.Escape(s)) > maxTestBytes {
		s = record.Cut(s, len(s)-1)
	}
	return s
}
