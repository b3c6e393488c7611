package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

const testKey = "sk-test-1234567890"

// at makes an openai-compatible provider of a server that answers as told.
func at(t *testing.T, change func(*config.Provider), answer http.HandlerFunc) Provider {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	cfg := config.Default(t.TempDir())
	p := config.Provider{Kind: "openai-compatible", BaseURL: srv.URL + "/v1/", Model: "m", APIKeyEnv: "TEST_KEY",
		TimeoutS: 5, IdleTimeoutS: 5}
	if change != nil {
		change(&p)
	}
	cfg.Limits.MaxResponseBytes = 64 << 10
	cfg.Providers["web"] = p
	made, err := New(cfg, "web",
		Options{Getenv: func(n string) string { return map[string]string{"TEST_KEY": testKey}[n] },
			wait: func(ctx context.Context, d time.Duration) error { return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func ask(p Provider, stream bool) (*record.Response, string, error) {
	var deltas strings.Builder
	var onDelta func(string) error
	if stream {
		onDelta = func(s string) error { deltas.WriteString(s); return nil }
	}
	resp, err := p.Chat(context.Background(), &record.Request{ID: "req-1", SystemPrompt: "be brief",
		Messages: []record.Message{{Role: "user", Content: "hi"}},
		Tools:    []record.Tool{{Name: "time", Description: "d", Parameters: record.Raw(`{"type":"object"}`)}}},
		onDelta)
	return resp, deltas.String(), err
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const fine = `{"model":"m-2","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"fine"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`

func TestRequestAndAnswer(t *testing.T) {
	var got []byte
	var auth, path string
	p := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		auth, path = r.Header.Get("Authorization"), r.URL.Path
		io.WriteString(w, fine)
	})
	resp, _, err := ask(p, false)
	if err != nil {
		t.Fatal(err)
	}
	if resp.FinalText != "fine" || resp.Model != "m-2" || resp.Usage.InputTokens != 3 || resp.FinishReason != "stop" ||
		len(resp.RawProviderPayload) == 0 {
		t.Errorf("%+v", resp)
	}
	if auth != "Bearer "+testKey || path != "/v1/chat/completions" {
		t.Errorf("%q, %q", auth, path)
	}
	want := `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"time","description":"d","parameters":{"type":"object"}}}],"stream":true,"stream_options":{"include_usage":true}}`
	if string(got) != want {
		t.Errorf("request %s", got)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		tries      int32
	}{
		{"401", "no", 401, dialect.CodeAuth, 1}, {"403", "no", 403, dialect.CodeAuth, 1},
		{"400", "bad", 400, dialect.CodeBadRequest, 1}, {"404", "", 404, dialect.CodeBadRequest, 1},
		{"429", "slow", 429, dialect.CodeRateLimit, 3}, {"500", "boom", 500, dialect.CodeServer, 3},
		{"503", "", 503, dialect.CodeServer, 3}, {"302", "", 302, dialect.CodeBadRequest, 1},
		{"a web page", "<html>", 200, dialect.CodeBadResponse, 1}, {"nothing", "", 200, dialect.CodeBadResponse, 2},
		{"no choices", `{"choices":[]}`, 200, dialect.CodeBadResponse, 2},
		{"no message", `{"choices":[{}]}`, 200, dialect.CodeBadResponse, 2},
		{"neither JSON nor stream", "OK", 200, dialect.CodeBadResponse, 2},
		{"duplicate names", `{"choices":[],"choices":[]}`, 200, dialect.CodeBadResponse, 2},
		{"error in 200", `{"error":{"message":"overloaded"}}`, 200, dialect.CodeServer, 3},
		{"error in 200 with its status", `{"error":{"message":"no","code":401}}`, 200, dialect.CodeAuth, 1},
		{"content is a number", `{"choices":[{"message":{"content":1}}]}`, 200, dialect.CodeBadResponse, 2},
		{"too long", `{"x":"` + strings.Repeat("x", 100<<10) + `"}`, 200, dialect.CodeTooLarge, 1},
		{"deep", strings.Repeat("[", 20000), 200, dialect.CodeBadResponse, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tries atomic.Int32
			p := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				w.Header().Set("Location", "http://localhost:1/")
				says(c.status, c.body)(w, r)
			})
			_, _, err := ask(p, false)
			var e *Error
			if !errors.As(err, &e) || e.Code != c.code || tries.Load() != c.tries {
				t.Errorf("%v after %d tries, want %s after %d", err, tries.Load(), c.code, c.tries)
			}
			if e != nil && (!strings.HasPrefix(e.Error(), "web: ") || len(e.Error()) > 500) {
				t.Errorf("message %q", e.Error())
			}
		})
	}
}

func TestTheKeyIsNeverRepeated(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, c := range []struct {
			status int
			kind   string
		}{{401, ""}, {500, ""}, {200, ""}, {200, "text/event-stream"}} {
			p := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
				key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				if c.kind != "" {
					fmt.Fprintf(w,
						"data: {\"choices\":[{\"delta\":{\"content\":\"%s\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", key)
					return
				}
				fmt.Fprintf(w, `{"choices":[{"message":{"content":"your key is %s"}}],"x":"%s"}`, key, key)
			})
			resp, deltas, err := ask(p, stream)
			text := fmt.Sprint(err, deltas)
			if resp != nil {
				b, _ := record.Encode(resp)
				text += string(b)
			}
			if strings.Contains(text, testKey) {
				t.Errorf("status %d %s: %s", c.status, c.kind, text)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	cfg := config.Default(t.TempDir())
	none := func(string) string { return "" }
	some := func(string) string { return testKey }
	cfg.Providers["far"] = config.Provider{Kind: "openai-compatible", BaseURL: "https://far.example/v1",
		APIKeyEnv: "FAR_KEY"}
	p, err := New(cfg, "far", Options{Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(p, false); err == nil || !strings.Contains(err.Error(), "FAR_KEY is not set") {
		t.Errorf("%v", err)
	}
	cfg.Providers["far"] = config.Provider{Kind: "openai-compatible", BaseURL: "http://far.example/v1",
		APIKeyEnv: "FAR_KEY"}
	if _, err := New(cfg, "far", Options{Getenv: some}); err == nil || strings.Contains(err.Error(), testKey) {
		t.Errorf("a key would cross the network readable: %v", err)
	}
	if _, err := New(cfg, "nobody", Options{Getenv: none}); err == nil ||
		!strings.Contains(err.(*Error).Hint, "local") {
		t.Errorf("%v", err)
	}
	for _, i := range List(cfg, some) {
		if b, _ := record.Encode(i); strings.Contains(string(b), testKey) {
			t.Errorf("%s", b)
		}
	}
}

func TestToolCalls(t *testing.T) {
	for args, want := range map[string]string{
		`"{\"path\":\".\"}"`: `{"path":"."}`, `""`: `{}`, `"  "`: `{}`, `null`: `{}`, `{"path":"."}`: `{"path":"."}`,
		`"{\"a\": 1.50}"`:          `{"a":1.50}`,
		`"{\"path\": \"x"`:         `"{\"path\": \"x"`,
		`"[1]"`:                    `"[1]"`,
		`"{\"a\":1,\"a\":2}"`:      `"{\"a\":1,\"a\":2}"`,
		`"not json"`:               `"not json"`,
		`"{}{}"`:                   `"{}{}"`,
		`"{\"a\":1},\"kind\":\"x"`: `"{\"a\":1},\"kind\":\"x"`,
		`"{},\"verdict\":{}"`:      `"{},\"verdict\":{}"`,
		`"{\"a\":\"\\ud800\"}"`:    `"{\"a\":\"\\ud800\"}"`,
	} {
		if strings.HasSuffix(args, `\"x`) || !strings.HasPrefix(args, `"`) || strings.HasSuffix(args, `"`) {
			body := `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"id":"x","function":{"name":"f","arguments":` + closed(args) + `}}]}}]}`
			resp, _, err := ask(at(t, nil, says(200, body)), false)
			if err != nil {
				t.Errorf("%s: %v", args, err)
				continue
			}
			if got := string(resp.ToolCalls[0].Args); got != closed(want) || resp.FinishReason != "tool_calls" ||
				resp.ToolCalls[0].ID == "x" {
				t.Errorf("%s became %s, want %s", args, got, want)
			}
		}
	}
	many := `{"choices":[{"message":{"tool_calls":[` +
		strings.TrimSuffix(strings.Repeat(`{"id":"x","function":{"name":"f","arguments":"{}"}},`, 100), ",") + `]}}]}`
	if _, _, err := ask(at(t, nil, says(200, many)), false); err == nil {
		t.Error("100 calls in one answer")
	}
}

// closed ends a JSON string of the table above that was cut for readability.
func closed(s string) string {
	if strings.HasPrefix(s, `"`) && (strings.Count(strings.ReplaceAll(s, `\"`, ""), `"`))%2 == 1 {
		return s + `"`
	}
	return s
}

const streamed = ": hello\r\n\r\nevent: x\r\ndata: {\"model\":\"m-3\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n" +
	"data: {\"choices\":[{\"delta\":{\"content\":\"wör\"}}]}\n\ndata: {\"choices\":[\ndata: {\"delta\":{\"content\":\"ld\"}}]}\n\n" +
	"data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\"}},{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\"}}]}}]}\n\n" +
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n" +
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}\n\ndata: [DONE]\n\n"

func sse(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, r := range []byte(body) {
			w.Write([]byte{r})
			if r == 'r' {
				w.(http.Flusher).Flush()
			}
		}
	}
}

func TestStream(t *testing.T) {
	resp, deltas, err := ask(at(t, nil, sse(streamed)), true)
	if err != nil {
		t.Fatal(err)
	}
	if resp.FinalText != "wörld" || deltas != "wörld" || resp.Model != "m-3" || resp.Usage.OutputTokens != 6 ||
		len(resp.ToolCalls) != 2 {
		t.Errorf("%+v, %q", resp, deltas)
	}
	for _, c := range resp.ToolCalls {
		if c.Name == "f" && string(c.Args) != `{"a":1}` || c.Name == "g" && string(c.Args) != `{}` {
			t.Errorf("%s %s", c.Name, c.Args)
		}
	}
	if resp, deltas, err := ask(at(t, nil, says(200, fine)), true); err != nil || resp.FinalText != "fine" ||
		deltas != "fine" {
		t.Errorf("a server that does not stream: %v", err)
	}
}

func TestStreamsThatFail(t *testing.T) {
	begun := `data: {"choices":[{"delta":{"content":"begun"}}]}` + "\n\n"
	for name, c := range map[string]struct {
		body, code string
		tries      int32
	}{
		"ended before anything": {"", dialect.CodeBadResponse, 2},
		"ended behind text":     {begun, dialect.CodeBadResponse, 1},
		"garbage":               {"data: nope\n\n", dialect.CodeBadResponse, 2},
		"error inside":          {`data: {"error":{"message":"overloaded"}}` + "\n\n", dialect.CodeServer, 3},
		"error behind text":     {begun + `data: {"error":"x"}` + "\n\n", dialect.CodeServer, 1},
		"nothing but done":      {"data: [DONE]\n\n", dialect.CodeBadResponse, 2},
		"too long":              {begun + "data: " + strings.Repeat("x", 200<<10), dialect.CodeTooLarge, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			p := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, c.body)
			})
			_, _, err := ask(p, true)
			var e *Error
			if !errors.As(err, &e) || e.Code != c.code || tries.Load() != c.tries {
				t.Errorf("%v after %d tries, want %s after %d", err, tries.Load(), c.code, c.tries)
			}
		})
	}
	ended := begun + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	if resp, _, err := ask(at(t, nil, sse(ended)), true); err != nil || resp.FinalText != "begun" {
		t.Errorf("an end without [DONE]: %v", err)
	}
}

// silent answers nothing until the client goes away, which a server notices only once it has read the whole request.
func silent(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestSilence(t *testing.T) {
	quick := func(p *config.Provider) { p.TimeoutS, p.IdleTimeoutS, p.MaxRetries = 0.05, 0.05, new(int) }
	for _, stream := range []bool{false, true} {
		_, _, err := ask(at(t, quick, silent), stream)
		var e *Error
		if !errors.As(err, &e) || e.Code != dialect.CodeTimeout {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
		cancel(errors.New("enough"))
		silent(w, r)
	})
	_, err := p.Chat(ctx, &record.Request{}, nil)
	var e *Error
	if !errors.As(err, &e) || e.Code != dialect.CodeCancelled || !strings.Contains(err.Error(), "enough") {
		t.Errorf("%v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for h, want := range map[string]time.Duration{"": -1, "0": 0, "7": 7 * time.Second, "999999": 999999 * time.Second,
		"-1": -1, "x": -1,
		"Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 2020 00:00:00 GMT": 0} {
		if got := retryAfter(h, now); got != want {
			t.Errorf("%q: %s, want %s", h, got, want)
		}
	}
}

func TestReliable(t *testing.T) {
	cfg := config.Default(t.TempDir())
	var calls []string
	server := func(name string, status int, body string) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls = append(calls, name)
			says(status, body)(w, r)
		}))
		t.Cleanup(srv.Close)
		cfg.Providers[name] = config.Provider{Kind: "openai-compatible", BaseURL: srv.URL, MaxRetries: new(int)}
	}
	server("auth", 401, "")
	server("down", 500, "")
	server("wrong", 400, "bad")
	server("good", 200, fine)
	for _, c := range []struct {
		order []string
		tried string
		ok    bool
	}{{[]string{"auth", "down", "good", "local"}, "auth down good", true}, {[]string{"wrong", "good"}, "wrong", false},
		{[]string{"down", "auth"}, "down auth", false}} {
		calls = nil
		cfg.Providers["r"] = config.Provider{Kind: "reliable", Providers: c.order}
		p, err := New(cfg, "r", Options{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		resp, _, err := ask(p, false)
		if (err == nil) != c.ok || strings.Join(calls, " ") != c.tried || c.ok && resp.Provider != "good" {
			t.Errorf("%v: tried %v, %v", c.order, calls, err)
		}
	}
}

// FuzzEvents checks that how a stream is cut into reads makes no difference.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(streamed))
	f.Add([]byte("data: a\rdata: b\r\n\r\ndata\n\n:x\n\ndata: c"))
	f.Fuzz(func(t *testing.T, b []byte) {
		collect := func(r io.Reader) (out []string) {
			events(r, 1<<20, func(e string, d []byte) error { out = append(out, e+":"+string(d)); return nil })
			return out
		}
		whole := collect(bytes.NewReader(b))
		for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(b)), iotest.HalfReader(bytes.NewReader(b)),
			iotest.DataErrReader(bytes.NewReader(b))} {
			if got := collect(r); fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Fatalf("%q: %q or %q", b, whole, got)
			}
		}
	})
}
