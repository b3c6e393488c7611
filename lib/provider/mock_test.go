package provider

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

func scripted(t testing.TB, fixture string) (Provider, error) {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default(dir)
	if fixture != "" {
		os.WriteFile(filepath.Join(dir, "f.jsonl"), []byte(fixture), 0o600)
		cfg.Providers["local"] = config.Provider{Kind: "mock", Fixture: "f.jsonl"}
	}
	return New(cfg, "local", Options{Getenv: os.Getenv, wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
}

func TestFixturesThatAreRefused(t *testing.T) {
	for fixture, want := range map[string]string{
		"{}":                                  "line 1: want one of",
		`{"final_text":"a","error":"auth"}`:   "want one of",
		`{"final_text":"a"}` + "\nnope":       "line 2",
		`{"final_txt":"a"}`:                   `unknown field "final_txt"`,
		`{"error":"magic"}`:                   "want timeout, network, auth or rate_limit",
		`{"when":"][","final_text":"a"}`:      "when:",
		`{"final_text_jq":"nope("}`:           "final_text_jq:",
		`{"when":"env.HOME|","final_text":1}`: "line 1",
	} {
		if _, err := scripted(t, fixture); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", fixture, err, want)
		}
	}
}

func TestStepsFollowTheConversation(t *testing.T) {
	p, err := scripted(t, `{"when":".messages[-1].content == \"never\"","final_text":"never"}
{"tool_calls":[{"name":"a"},{"name":"b","args":"broken {"}],"delay_ms":5000}
{"final_text_jq":"\"said \" + .messages[-1].content"}
{"error":"rate_limit"}
`)
	if err != nil {
		t.Fatal(err)
	}
	chat := func(m ...record.Message) (*record.Response, error) {
		return p.Chat(t.Context(), &record.Request{Messages: append([]record.Message{{Role: "user", Content: "old"}, {Role: "assistant"}, {Role: "user", Content: "x"}}, m...)}, nil)
	}
	r, err := chat()
	if err != nil || len(r.ToolCalls) != 2 || string(r.ToolCalls[0].Args) != "{}" || string(r.ToolCalls[1].Args) != `"broken {"` {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = chat(record.Message{Role: "assistant"}, record.Message{Role: "tool", Content: "42"}); err != nil || r.FinalText != "said 42" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err = chat(record.Message{Role: "assistant"}, record.Message{Role: "assistant"}); err == nil || err.(*Error).Code != CodeRateLimit {
		t.Error(err)
	}
	if _, err = chat(record.Message{Role: "assistant"}, record.Message{Role: "assistant"}, record.Message{Role: "assistant"}); err == nil || !strings.Contains(err.Error(), "3 steps") {
		t.Error(err)
	}
}

func TestBuiltinScript(t *testing.T) {
	p, err := scripted(t, "")
	if err != nil {
		t.Fatal(err)
	}
	list := []record.Tool{{Name: "file_list"}}
	question := record.Message{Role: "user", Content: "What files are there?"}
	for _, c := range []struct {
		req  record.Request
		want string
	}{
		{record.Request{Messages: []record.Message{question}}, "mock model"},
		{record.Request{Messages: []record.Message{{Role: "user", Content: "hello"}}, Tools: list}, "You said: hello"},
		{record.Request{Messages: []record.Message{question, {Role: "assistant"}, {Role: "tool", Content: "a.txt"}}, Tools: list}, "a.txt"},
		{record.Request{Messages: []record.Message{question, {Role: "assistant"}, {Role: "tool", Content: "denied", IsError: true}}, Tools: list}, "but: denied"},
		{record.Request{}, "mock model"},
	} {
		var deltas string
		r, err := p.Chat(t.Context(), &c.req, func(s string) error { deltas += s; return nil })
		if err != nil || !strings.Contains(r.FinalText, c.want) || !strings.Contains(r.FinalText, "mock") || deltas != r.FinalText {
			t.Errorf("%+v, %v, deltas %q", r, err, deltas)
		}
	}
	r, err := p.Chat(t.Context(), &record.Request{Messages: []record.Message{question}, Tools: list}, nil)
	if err != nil || len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != "file_list" {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzFixture checks that no fixture brings the parser down, and that what it accepts has an outcome.
func FuzzFixture(f *testing.F) {
	f.Add(`{"final_text":"a"}`)
	f.Add(`{"when":".x","tool_calls":[{"name":"a","args":{}}],"usage":{"input_tokens":1,"output_tokens":2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := parseFixture([]byte(text))
		for _, s := range steps {
			if err == nil && s.FinalText == nil && s.text == nil && s.ToolCalls == nil && s.Error == "" {
				t.Fatalf("%q: a step without outcome", text)
			}
		}
	})
}
