package provider

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"texts":            {`{"a":"x"} {"a":"y"}`, `{"a":"xy"}`},
		"set once":         {`{"type":"t","id":"1"} {"type":"t","id":"1"}`, `{"type":"t","id":"1"}`},
		"null changes not": {`{"a":"x"} {"a":null}`, `{"a":"x"}`},
		"null, then":       {`{"a":null} {"a":[1]}`, `{"a":[1]}`},
		"numbers":          {`{"a":12345678901234567890} {"a":0.10}`, `{"a":0.10}`},
		"objects":          {`{"a":{"b":"x"}} {"a":{"b":"y","c":1}}`, `{"a":{"b":"xy","c":1}}`},
		"by index":         {`{"a":[{"index":1,"t":"x"}]} {"a":[{"index":0,"t":"o"}]} {"a":[{"index":1,"t":"y"}]}`, `{"a":[{"index":1,"t":"xy"},{"index":0,"t":"o"}]}`},
		"appended":         {`{"a":[{"n":1}]} {"a":[{"n":2}]}`, `{"a":[{"n":1},{"n":2}]}`},
		"a signature":      {`{"thought_signature":"s"} {"thought_signature":"s"}`, `{"thought_signature":"s"}`},
		"order":            {`{"z":1} {"a":1} {"z":2}`, `{"z":2,"a":1}`},
		"text among parts": {`{"content":[{"type":"text","text":"a"}]} {"content":"b"}`, `{"content":[{"type":"text","text":"ab"}]}`},
		"another type":     {`{"a":"x"} {"a":{"b":1}}`, `{"a":{"b":1}}`},
	} {
		var all tree
		for _, piece := range strings.Split(c.in, " ") {
			if err := all.merge("", record.Raw(piece)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := all.value(); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, err)
		}
	}
}

func TestThinker(t *testing.T) {
	for in, want := range map[string][2]string{
		"<think>a</think>b": {"b", "a"}, "  <think>\na\n</think>\n\n b": {"b", "\na\n"}, "plain": {"plain", ""}, "<thin": {"<thin", ""}, "<thinking>x</thinking>y": {"y", "x"},
		"a <think>b</think>": {"a <think>b</think>", ""}, "<think>never": {"", "never"}, "<think>a</think><think>b</think>c": {"c", "ab"}, "<think></think>": {"", ""}, " \n": {" \n", ""},
		"<b>x": {"<b>x", ""}, "<think>a</thi</think>b": {"b", "a</thi"},
	} {
		for _, size := range []int{1, 2, 3, 100} {
			var k thinker
			out := ""
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				out, rest = out+k.next(rest[:n]), rest[n:]
			}
			out += k.rest()
			if out != want[0] || k.thought.String() != want[1] {
				t.Errorf("%q in pieces of %d: %q, %q", in, size, out, k.thought.String())
			}
		}
	}
}

func quiet() *attempt {
	e := &endpoint{name: "web", base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, getenv: func(string) string { return "" }}
	return &attempt{chat: &chat{endpoint: e, maxBytes: 64 << 10}, keys: keys{}.with("K", testKey)}
}

// FuzzStream: whatever a server streams, the answer is a response that a record can carry, what is passed on is its text, and
// what goes back is accepted where messages are built.
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
		if o := resp.Original; o != nil {
			if _, ok := replay(record.Message{Role: "assistant", Content: resp.FinalText, ToolCalls: resp.ToolCalls, Original: o}, nil); !ok {
				t.Fatalf("does not go back: %s", o.Message)
			}
		}
	})
}

// FuzzComplaint: whatever stands in the body of an error, what is said of it is one short printable line without the key.
func FuzzComplaint(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m","code":429}}`, `[{"error":{"status":"X"}}]`, `{"detail":[{"loc":["body",1],"msg":"m"}]}`, "<html><title>x</title>", "plain", `{"message":"a: {\"error\":\"b\"}"}`, "\xef\xbb\xbf{}", testKey} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := quiet()
		for _, status := range []int{0, 400, 404, 429, 500} {
			e := a.explain(status, a.complaint(b))
			if len(e.Message) > 4*maxQuoteBytes || printable(e.Message) != strings.Join(strings.Fields(e.Message), " ") || strings.Contains(e.Message+e.Hint, testKey) {
				t.Fatalf("%q: %q", b, e.Message)
			}
		}
	})
}

func TestConfiguredFields(t *testing.T) {
	p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: "http://127.0.0.1:1/v1?a=b", Query: map[string]string{"c": "d e"}, Body: map[string]any{"temperature": int64(1), "x": []any{"y"}}}, Options{})
	c := p.(*chat)
	if got := c.url("/models"); got != "http://127.0.0.1:1/v1/models?a=b&c=d+e" {
		t.Error(got)
	}
	warm := 0.5
	body, err := c.question(&record.Request{Temperature: &warm})
	if err != nil || !strings.Contains(string(body), `"temperature":1,`) || !strings.HasSuffix(string(body), `,"x":["y"]}`) {
		t.Errorf("%s, %v", body, err)
	}
	far := config.Provider{Kind: "openai-compatible", BaseURL: "http://far.example/v1", HeadersEnv: map[string]string{"api-key": "K"}}
	cfg := config.Default(t.TempDir())
	cfg.Providers["far"] = far
	if _, err := New(cfg, "far", Options{Getenv: func(string) string { return testKey }}); code(err) != CodeConfig {
		t.Errorf("a secret header would cross the network readable: %v", err)
	}
}

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		status int
		words  string
		want   string
	}{
		{400, "does not support tools", CodeNoTools}, {400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model", CodeBadRequest},
		{400, "tool_choice is not supported", CodeBadRequest}, {404, "no endpoints found that support tool use", CodeNoTools}, {500, "tools param requires --jinja flag", CodeNoTools},
		{400, "'temperature' does not support 0.2 with this model", CodeBadRequest}, {400, "invalid model id", CodeNotFound}, {404, "page not found", CodeBadRequest},
		{404, "The model x does not exist", CodeNotFound}, {500, "model not loaded", CodeServer}, {400, "prompt is too long: 9 tokens > 8 maximum", CodeTooLong},
		{500, "the request exceeds the available context size", CodeTooLong}, {429, "context length", CodeRateLimit}, {429, "insufficient_quota", CodeQuota},
		{429, "exceeded your current quota, retry in 3s", CodeRateLimit}, {403, "credit balance is too low", CodeQuota}, {401, "insufficient_quota", CodeAuth}, {408, "", CodeTimeout},
		{529, "overloaded", CodeServer}, {0, "rate_limit exceeded", CodeRateLimit}, {0, "authentication failed", CodeAuth}, {0, "boom", CodeServer}, {413, "", CodeTooLong}, {501, "no", CodeBadRequest},
	} {
		if got := codeOf(c.status, complaint{text: c.words}); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.words, got, c.want)
		}
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
		{400, CodeBadRequest, "unknown field stream_options", "stream_options"}, {400, CodeBadRequest, "Streaming is not supported", "stream"}, {422, CodeBadRequest, "tool_choice: extra inputs", "tool_choice"},
		{400, CodeBadRequest, "property 'messages.0.reasoning' is unsupported", "reasoning"}, {400, CodeBadRequest, "unexpected extra_content in a call", "extra_content"},
		{400, CodeBadRequest, "temperature must be below 1", ""}, {400, CodeBadRequest, "unsupported content of role assistant in messages for model", ""}, {400, CodeBadRequest, "unknown field upstreams", ""},
		{400, CodeNoTools, "stream_options is not supported", ""}, {500, CodeServer, "unknown field stream_options", ""}, {400, CodeBadRequest, "", "stream_options"},
	} {
		var r refused
		e := &Error{Code: c.code, Status: c.status, said: c.words}
		if got := r.concede(e, record.Raw(body)); got != c.want || r.names()[c.want] != (c.want != "") {
			t.Errorf("%d %s: %q, want %q", c.status, c.words, got, c.want)
		}
		e.streamed = true
		if got := r.concede(e, record.Raw(body)); got != "" {
			t.Errorf("behind a part of the answer: %s", got)
		}
	}
}

// TestManyPartsTakeNoTime: what a server sends in very many parts is put together in a time that grows as they do.
func TestManyPartsTakeNoTime(t *testing.T) {
	var whole tree
	begun := time.Now()
	const parts = 25_000
	for i := range parts {
		piece := fmt.Sprintf(`[{"type":"text","text":"x","index":%d},{"text":"y","index":%d}]`, i, i/2)
		if err := whole.merge("content", record.Raw(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if len(whole.list) != parts || !whole.list[1].members["text"].is("xyy") || time.Since(begun) > 10*time.Second {
		t.Errorf("%d parts after %v", len(whole.list), time.Since(begun))
	}
}
