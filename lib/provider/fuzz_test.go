package provider

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/provider/dialect/chat"
	"clawsh/lib/record"
)

func quiet() *attempt {
	e := &endpoint{name: "web", wire: chat.Dialect{}.Wire(), base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"},
		getenv: func(string) string { return "" }}
	return &attempt{server: &server{endpoint: e, maxBytes: 64 << 10, dialect: chat.Dialect{}},
		keys: dialect.Keys{}.With("K", testKey)}
}

// FuzzStream: whatever a server streams, the answer is a response that a record can carry, without the key, and what is
// passed on is its text.
func FuzzStream(f *testing.F) {
	f.Add([]byte(streamed))
	f.Add([]byte(piece(`"index":0,"id":7,"function":{"name":"f","arguments":{"a":[1e400]}},"x":{"y":"z"}`) + stops))
	f.Add([]byte(delta(`"content":[{"type":"thinking","thinking":[{"text":"hm"}]}],"reasoning_details":[{"index":0,"text":"a"}]`) + delta(`"content":"<think>x"`) + "event: error\ndata: no\n\n"))
	f.Add([]byte(`data: [{"error":{"message":"` + testKey + `"}}]` + "\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a := quiet()
		var passed strings.Builder
		a.onDelta = func(s string) error { passed.WriteString(s); return nil }
		w := newWatch(func(error) {}, time.Hour, time.Hour)
		defer w.stop()
		resp, err := a.stream(t.Context(), t.Context(), strings.NewReader(string(b)), w)
		if err != nil {
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), testKey) {
				t.Fatalf("the key: %v", err)
			}
			return
		}
		if passed.String() != resp.FinalText {
			t.Fatalf("passed on %q of %q", passed.String(), resp.FinalText)
		}
		resp.V, resp.Kind, resp.ID = 1, record.KindResponse, "resp-1"
		line, err := record.Encode(resp)
		if err == nil {
			_, err = record.Parse(line)
		}
		if err != nil || strings.Contains(string(line), testKey) {
			t.Fatalf("%v: %s", err, line)
		}
		seen := map[string]bool{}
		for _, c := range resp.ToolCalls {
			if c.ProviderCallID == "" || seen[c.ProviderCallID] {
				t.Fatalf("ids: %+v", resp.ToolCalls)
			}
			seen[c.ProviderCallID] = true
		}
	})
}

// FuzzComplaint: whatever stands in the body of an error, what is said of it is one short printable line without the
// key.
func FuzzComplaint(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m","code":429}}`, `[{"error":{"status":"X"}}]`,
		`{"detail":[{"loc":["body",1],"msg":"m"}]}`, "<html><title>x</title>", "plain",
		`{"message":"a: {\"error\":\"b\"}"}`, "\xef\xbb\xbf{}", testKey} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := quiet()
		for _, status := range []int{0, 400, 404, 429, 500} {
			e := a.explain(status, a.server.dialect.Complaint(status, b, a.keys))
			if len(e.Message) > 4*dialect.MaxQuoteBytes ||
				dialect.Printable(e.Message) != strings.Join(strings.Fields(e.Message), " ") ||
				strings.Contains(e.Message+e.Hint, testKey) {
				t.Fatalf("%q: %q", b, e.Message)
			}
		}
	})
}

func TestConfiguredFields(t *testing.T) {
	p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: "http://127.0.0.1:1/v1?a=b",
		Query: map[string]string{"c": "d e"}, Body: map[string]any{"temperature": int64(1), "x": []any{"y"}}},
		Options{})
	c := p.(*server)
	if got := c.url("/models"); got != "http://127.0.0.1:1/v1/models?a=b&c=d+e" {
		t.Error(got)
	}
	warm := 0.5
	body, err := c.question(&record.Request{Temperature: &warm}, "m")
	if err != nil || !strings.Contains(string(body), `"temperature":1,`) ||
		!strings.HasSuffix(string(body), `,"x":["y"]}`) {
		t.Errorf("%s, %v", body, err)
	}
	far := config.Provider{Kind: "openai-compatible", BaseURL: "http://far.example/v1",
		HeadersEnv: map[string]string{"api-key": "K"}}
	cfg := config.Default(t.TempDir())
	cfg.Providers["far"] = far
	if _, err := New(cfg, "far",
		Options{Getenv: func(string) string { return testKey }}); code(err) != dialect.CodeConfig {
		t.Errorf("a secret header would cross the network readable: %v", err)
	}
}

// TestConcede: only what a server refuses by name is left out, never what a question cannot do without, and each once.
func TestConcede(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"assistant","content":"x","reasoning":"y","tool_calls":[{"id":"a","extra_content":1}]}],"tools":[],"temperature":1,"max_tokens":5,"stream":true,"stream_options":{},"tool_choice":"auto"}`
	for _, c := range []struct {
		status int
		code   string
		words  string
		want   string
	}{
		{400, dialect.CodeBadRequest, "unknown field stream_options", "stream_options"},
		{400, dialect.CodeBadRequest, "Streaming is not supported", "stream"},
		{422, dialect.CodeBadRequest, "tool_choice: extra inputs", "tool_choice"},
		{400, dialect.CodeBadRequest, "property 'messages.0.reasoning' is unsupported", "reasoning"},
		{400, dialect.CodeBadRequest, "unexpected extra_content in a call", "extra_content"},
		{400, dialect.CodeBadRequest, "temperature must be below 1", ""},
		{400, dialect.CodeBadRequest, "unsupported content of role assistant in messages for model", ""},
		{400, dialect.CodeBadRequest, "unknown field upstreams", ""},
		{400, dialect.CodeNoTools, "stream_options is not supported", ""},
		{500, dialect.CodeServer, "unknown field stream_options", ""},
		{400, dialect.CodeBadRequest, "", "stream_options"},
	} {
		r := &server{dialect: chat.Dialect{}, without: map[string]bool{}}
		e := &Error{Code: c.code, Status: c.status, said: c.words}
		if got := r.concede(e, record.Raw(body)); got != c.want || r.without[c.want] != (c.want != "") {
			t.Errorf("%d %s: %q, want %q", c.status, c.words, got, c.want)
		}
		e.streamed = true
		if got := r.concede(e, record.Raw(body)); got != "" {
			t.Errorf("behind a part of the answer: %s", got)
		}
	}
}
