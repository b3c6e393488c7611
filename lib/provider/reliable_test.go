package provider

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// fake is a provider that fails, or answers with its name, behind a piece of text if it has one.
type fake struct {
	name  string
	err   error
	piece string
	model *string
}

func (f fake) Name() string { return f.name }

func (f fake) Kind() string { return "fake" }

func (f fake) Capabilities() Capabilities {
	return Capabilities{Streaming: true, Tools: f.name != "old"}
}

func (f fake) Chat(_ context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	if f.model != nil {
		*f.model = req.Model
	}
	if f.piece != "" && onDelta != nil {
		onDelta(f.piece)
	}
	if f.err != nil {
		return nil, f.err
	}
	return &record.Response{Provider: f.name, FinalText: f.name}, nil
}

func TestFallback(t *testing.T) {
	for code, falls := range map[string]bool{dialect.CodeNetwork: true, dialect.CodeAuth: true,
		dialect.CodeTimeout: true, dialect.CodeServer: true, dialect.CodeRateLimit: true,
		dialect.CodeBadRequest: false, dialect.CodeBadResponse: false, dialect.CodeTooLarge: false,
		dialect.CodeCancelled: false, dialect.CodeConfig: false} {
		var log bytes.Buffer
		var model string
		r := &reliable{name: "r", log: slog.New(slog.NewTextHandler(&log, nil)), providers: []Provider{
			fake{name: "one", err: &Error{Provider: "one", Code: code, Message: "broken"}},
			fake{name: "two", model: &model}}}
		resp, err := r.Chat(t.Context(), &record.Request{Model: "for-one"}, nil)
		if falls != (err == nil) || falls && (resp.Provider != "two" || model != "") {
			t.Errorf("%s: %+v, %v, model %q", code, resp, err, model)
		}
		want := ""
		if falls {
			want = `level=WARN msg="provider fallback" event=provider_fallback from=one to=two code=` + code
		}
		if !strings.Contains(log.String(), want) || want == "" && log.Len() > 0 {
			t.Errorf("%s: log %q", code, log.String())
		}
	}
}

func TestNoFallback(t *testing.T) {
	down := &Error{Provider: "one", Code: dialect.CodeNetwork, Message: "gone", streamed: true}
	two := fake{name: "two"}
	r := &reliable{name: "r", log: slog.New(slog.DiscardHandler),
		providers: []Provider{fake{name: "one", err: down, piece: "half"}, two}}
	if _, err := r.Chat(t.Context(), &record.Request{}, func(string) error { return nil }); !errors.Is(err, down) {
		t.Errorf("behind a piece of the answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.providers[0] = fake{name: "one", err: &Error{Provider: "one", Code: dialect.CodeNetwork}}
	if _, err := r.Chat(ctx, &record.Request{}, nil); err == nil {
		t.Error("behind the end of the request")
	}
	r.providers[0] = fake{name: "one", err: errors.New("disk full")}
	if _, err := r.Chat(t.Context(), &record.Request{}, nil); err == nil || err.Error() != "disk full" {
		t.Errorf("behind somebody else's failure: %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	r := &reliable{name: "r", log: slog.New(slog.DiscardHandler), providers: []Provider{
		fake{name: "one", err: &Error{Provider: "one", Code: dialect.CodeTimeout, Message: "no answer within 2m0s",
			Retryable: true}},
		fake{name: "old", err: &Error{Provider: "old", Code: dialect.CodeAuth, Message: "HTTP 401", Status: 401,
			Hint: "set the key"}}}}
	_, err := r.Chat(t.Context(), &record.Request{}, nil)
	e, ok := err.(*Error)
	if !ok || e.Code != dialect.CodeAuth || !e.Retryable || e.Status != 401 || e.Hint != "old: set the key" ||
		e.Error() != "r: no provider answered: one: no answer within 2m0s; old: HTTP 401" {
		t.Errorf("%+v", err)
	}
	if r.Capabilities().Tools {
		t.Error("one of them knows no tools")
	}
}

func TestNewRefuses(t *testing.T) {
	cfg := config.Default(t.TempDir())
	for name, p := range map[string]config.Provider{"self": {Kind: "reliable", Providers: []string{"self"}},
		"a": {Kind: "reliable", Providers: []string{"local", "b"}},
		"b": {Kind: "reliable", Providers: []string{"a"}}, "none": {Kind: "reliable"},
		"gap": {Kind: "reliable", Providers: []string{"nobody"}}, "odd": {Kind: "magic"},
		"twice": {Kind: "reliable", Providers: []string{"local", "local"}}} {
		cfg.Providers[name] = p
	}
	for name, want := range map[string]string{"self": "self, then self", "a": "a, then b, then a",
		"none": "no providers", "gap": "nobody: there is no", "odd": "kind magic",
		"x\x1b[31m\u202e" + strings.Repeat("y", 500): "x [31m"} {
		if p, err := New(cfg, name, Options{}); code(err) != dialect.CodeConfig ||
			!strings.Contains(err.Error(), want) || len(err.Error()) > 200 || err.(*Error).Hint == "" {
			t.Errorf("%q: %v, %v", name, p, err)
		}
	}
	if _, err := New(cfg, "twice", Options{}); err != nil {
		t.Errorf("the same one twice is no circle: %v", err)
	}
}
