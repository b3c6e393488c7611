package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// TestKeysThatComeBack has servers send the key back in every way: it is found in nothing that leaves the package.
func TestKeysThatComeBack(t *testing.T) {
	escaped := strings.ReplaceAll(testKey, "-", `\u002d`)
	message := func(fields string) string {
		return `{"model":"m","choices":[{"finish_reason":"stop","message":{` + fields + `}}]}`
	}
	chunk := func(delta string) string { return `data: {"choices":[{"index":0,"delta":{` + delta + `}}]}` + "\n\n" }
	done := "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	for name, body := range map[string]string{
		"text":         message(`"content":"it is ` + testKey + `"`),
		"escaped text": message(`"content":"it is ` + escaped + `"`),
		"arguments": message(`"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"` + testKey +
			`\"}"}}]`),
		"escaped arguments": message(`"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"` +
			strings.ReplaceAll(escaped, `\`, `\\`) + `\"}"}}]`),
		"name of a call":      message(`"tool_calls":[{"function":{"name":"` + escaped + `","arguments":""}}]`),
		"model":               `{"model":"` + escaped + `","choices":[{"message":{"content":"x"}}]}`,
		"beside":              `{"x":"` + testKey + `","choices":[{"message":{"content":"x"}}]}`,
		"escaped name beside": `{"` + escaped + `":1,"choices":[{"message":{"content":"x"}}]}`,
		"error in 200":        `{"error":{"message":"bad key ` + escaped + `"}}`,
		"odd error in 200":    `{"error":{"detail":"bad key ` + escaped + `"}}`,
		"no JSON":             `<p>` + testKey,
		"piece":               chunk(`"content":"`+testKey+`"`) + done,
		"split over pieces": chunk(`"content":"a `+testKey[:7]+`"`) + chunk(`"content":"`+testKey[7:]+
			` b"`) + done,
		"arguments in pieces": chunk(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":\"`+
			testKey[:9]+`"}}]`) + chunk(`"tool_calls":[{"index":0,"function":{"arguments":"`+testKey[9:]+
			`\"}"}}]`) + done,
		"malformed arguments":     message(`"tool_calls":[{"function":{"name":"f","arguments":"{` + testKey + `"}}]`),
		"malformed piece":         "data: {" + testKey + "\n\n",
		"duplicate names":         `{"` + testKey + `":1,"` + testKey + `":2}`,
		"content of another type": message(`"content":{"` + testKey + `":1}`),
	} {
		for _, status := range []int{200, 401, 400, 500} {
			for _, stream := range []bool{false, true} {
				var log bytes.Buffer
				out := leaving(t, status, body, stream, &log)
				if strings.Contains(out, testKey) || strings.Contains(out, escaped) ||
					strings.Contains(out, testKey[:12]) {
					t.Errorf("%s, status %d, stream %t: %s", name, status, stream, out)
				}
			}
		}
	}
}

// leaving is everything that comes out of one request.
func leaving(t *testing.T, status int, body string, stream bool, log *bytes.Buffer) string {
	url := raw(t, func(string) string {
		kind := "application/json"
		if strings.HasPrefix(body, "data:") {
			kind = "text/event-stream"
		}
		return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, testKey, kind,
			len(body), body)
	})
	p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: url, APIKeyEnv: "K"},
		Options{Getenv: func(string) string { return testKey },
			Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	resp, deltas, err := ask(p, stream)
	encoded, _ := record.Encode(resp)
	return fmt.Sprintf("%s %s %v %+v %s", deltas, encoded, err, err, log)
}

func TestKeysInBrokenAnswers(t *testing.T) {
	for name, answer := range map[string]func(auth string) string{
		"no HTTP":     func(auth string) string { return auth + "\r\n\r\n" },
		"status line": func(auth string) string { return "HTTP/1.1 " + auth + "\r\n\r\n" },
		"header":      func(auth string) string { return "HTTP/1.1 200 OK\r\n" + auth + "\r\n\r\n" },
		"cut at 8 KiB": func(auth string) string {
			return "HTTP/1.1 400 Bad\r\n\r\n" + strings.Repeat(" ", maxErrorBodyBytes-20) + auth
		},
	} {
		url := raw(t, answer)
		p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: url, APIKeyEnv: "K"},
			Options{Getenv: func(string) string { return testKey }})
		_, _, err := ask(p, false)
		for e := err; e != nil; {
			if strings.Contains(e.Error(), testKey[:8]) {
				t.Errorf("%s: %v", name, e)
			}
			u, ok := e.(interface{ Unwrap() error })
			if !ok {
				break
			}
			e = u.Unwrap()
		}
	}
}

func TestKeysBeforeAnyConnection(t *testing.T) {
	for _, c := range []struct{ name, url, key, code, hint string }{
		{"missing", "https://192.0.2.1/v1", "", dialect.CodeAuth, "K_ENV"},
		{"blank", "https://192.0.2.1/v1", " \n", dialect.CodeAuth, "K_ENV"},
		{"line break inside", "https://192.0.2.1/v1", "sk-a\nX-Evil: 1", dialect.CodeAuth, "K_ENV"},
		{"typographic quote", "https://192.0.2.1/v1", "“sk-abc”", dialect.CodeAuth, "K_ENV"},
		{"plain http", "http://192.0.2.1/v1", testKey, dialect.CodeConfig, "https"},
		{"no URL", "192.0.2.1", testKey, dialect.CodeConfig, "http"},
		{"another scheme", "ftp://127.0.0.1/", testKey, dialect.CodeConfig, "http"},
		{"user in the URL", "https://u:p@192.0.2.1/", testKey, dialect.CodeConfig, "without user"},
	} {
		cfg := config.Default(t.TempDir())
		cfg.Providers["web"] = config.Provider{Kind: "openai-compatible", BaseURL: c.url, APIKeyEnv: "K_ENV"}
		p, err := New(cfg, "web", Options{Getenv: func(string) string { return c.key }, HTTP: unreachable{t}})
		if err == nil {
			_, _, err = ask(p, false)
		}
		var text string
		if e, ok := err.(*Error); ok {
			text = e.Message + e.Hint
		}
		if code(err) != c.code || !strings.Contains(text, c.hint) || strings.Contains(text, "sk-") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	p := at(t, func(p *config.Provider) { p.APIKeyEnv = "EMPTY" }, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a key of nothing")
		}
		io.WriteString(w, fine)
	})
	if _, _, err := ask(p, false); err != nil {
		t.Errorf("this machine needs no key: %v", err)
	}
}

// unreachable is a transport that must not be used.
type unreachable struct{ t *testing.T }

func (u unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	u.t.Error("a connection was made")
	return nil, io.ErrClosedPipe
}

func TestPlaceholdersStay(t *testing.T) {
	if got := (dialect.Keys{}).With("K", "no").Scrub("no, not now"); got != "no, not now" {
		t.Error(got)
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := wait(ctx, time.Hour); err == nil {
		t.Error("waited")
	}
}

func TestArgumentsThatNoRecordCarries(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for text, object := range map[string]bool{nested(record.MaxDepth - 8): true, nested(record.MaxDepth - 7): false,
		nested(100000): false, `{"a":9007199254740993}`: false,
		`{"a":1e400}`: false, `{"a":-0.1e-5}`: true, `{"a":[{"b":1,"\u0062":2}]}`: false, "{\"a\":\"\xff\"}": false,
		`{}],[{}`: false, " \n{\"a\":\n1}\t": true, `{"a":NaN}`: false, "{'a':1}": false} {
		raw, err := arguments(text, dialect.Keys{})
		if err != nil || (raw[0] == '{') != object {
			t.Errorf("%.60q became %.60s, %v", text, raw, err)
		}
	}
}

// FuzzArguments checks that whatever a model writes can be carried by a record, on one line, and that an object means
// what was written.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", `{"a":1}`, `{"a":`, `{} {}`, `{}],[{}`, `"x"`, "{\"a\":\"\\ud800\"}", "null",
		"\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := arguments(text, dialect.Keys{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		line, err := record.Encode(record.ToolCall{V: 1, Kind: record.KindToolCall, Args: raw})
		if err == nil {
			_, err = record.Parse(line)
		}
		if err != nil || strings.ContainsAny(string(line), "\r\n") {
			t.Fatalf("%q became %s: %v", text, raw, err)
		}
		switch {
		case strings.TrimSpace(text) == "" && string(raw) == "{}":
		case raw[0] == '{':
			a, err := record.Canonical(raw)
			b, err2 := record.Canonical([]byte(strings.TrimSpace(text)))
			if err != nil || err2 != nil || string(a) != string(b) {
				t.Fatalf("%q became %s", text, raw)
			}
		default:
			if s, ok := dialect.Text(raw); !ok || s != strings.ToValidUTF8(text, "\ufffd") &&
				!strings.Contains(text, "\xff") && len(s) < len(text) {
				t.Fatalf("%q became %s", text, raw)
			}
		}
	})
}
