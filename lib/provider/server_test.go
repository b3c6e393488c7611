package provider

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// code returns the code of a provider's error.
func code(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("no *Error: %v", err)
	}
	return e.Code
}

// raw is a server that writes bytes to each connection, once a request has come, and closes it.
func raw(t *testing.T, answer func(header string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				io.Copy(io.Discard, r.Body)
				io.WriteString(c, answer(r.Header.Get("Authorization")))
			}
			c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// waits records the pauses between tries instead of making them.
type waits struct{ pauses []time.Duration }

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.pauses = append(w.pauses, d)
	return ctx.Err()
}

// made makes a provider of one table.
func made(t *testing.T, p config.Provider, o Options) Provider {
	t.Helper()
	cfg := config.Default(t.TempDir())
	cfg.Limits.MaxResponseBytes = 64 << 10
	cfg.Providers["web"] = p
	if o.wait == nil {
		o.wait = new(waits).wait
	}
	made, err := New(cfg, "web", o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		header   string
		pauses   func([]time.Duration) bool
		code     string
	}{
		{"500 then fine", []int{500, 200}, "", func(p []time.Duration) bool {
			return len(p) == 1 && p[0] >= 250*time.Millisecond && p[0] < 750*time.Millisecond
		}, ""},
		{"429 with seconds", []int{429, 200}, "7",
			func(p []time.Duration) bool { return slices.Equal(p, []time.Duration{7 * time.Second}) }, ""},
		{"429 asks for a minute", []int{429, 200}, "60",
			func(p []time.Duration) bool { return slices.Equal(p, []time.Duration{time.Minute}) }, ""},
		{"429 asks for a day", []int{429, 200}, "86400", func(p []time.Duration) bool { return len(p) == 0 },
			dialect.CodeRateLimit},
		{"429 with a date long past", []int{429, 200}, "Thu, 01 Jan 2015 00:00:00 GMT",
			func(p []time.Duration) bool { return slices.Equal(p, []time.Duration{0}) }, ""},
		{"pauses grow", []int{503, 503, 503}, "", func(p []time.Duration) bool {
			return len(p) == 2 && p[1] >= 500*time.Millisecond && p[1] < 1500*time.Millisecond
		}, dialect.CodeServer},
		{"408 is not tried again", []int{408, 200}, "0", func(p []time.Duration) bool { return len(p) == 0 },
			dialect.CodeTimeout},
		{"401 is not tried again", []int{401, 200}, "0", func(p []time.Duration) bool { return len(p) == 0 },
			dialect.CodeAuth},
		{"422 is not tried again", []int{422, 200}, "", func(p []time.Duration) bool { return len(p) == 0 },
			dialect.CodeBadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tries atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status := c.statuses[min(int(tries.Add(1)), len(c.statuses))-1]
				w.Header().Set("Retry-After", c.header)
				says(status, fine)(w, r)
			}))
			defer srv.Close()
			w := &waits{}
			resp, _, err := ask(made(t, config.Provider{Kind: "openai-compatible", BaseURL: srv.URL},
				Options{wait: w.wait}), false)
			if c.code == "" && (err != nil || resp.FinalText != "fine") || c.code != "" && code(err) != c.code ||
				!c.pauses(w.pauses) {
				t.Errorf("%v, %v, pauses %v", resp, err, w.pauses)
			}
		})
	}
}

func TestRetriesAreLoggedAndEndWithTheContext(t *testing.T) {
	srv := httptest.NewServer(says(500, "boom"))
	defer srv.Close()
	var lines bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	var tries int
	p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: srv.URL},
		Options{Log: slog.New(slog.NewTextHandler(&lines, nil)),
			wait: func(ctx context.Context, _ time.Duration) error {
				if tries++; tries == 2 {
					cancel()
				}
				return ctx.Err()
			}})
	_, err := p.Chat(ctx, &record.Request{}, nil)
	if code(err) != dialect.CodeCancelled || tries != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%v after %d pauses", err, tries)
	}
	if s := lines.String(); strings.Count(s, "level=WARN") != 2 || !strings.Contains(s, "attempt=2") ||
		!strings.Contains(s, "status=500") {
		t.Errorf("log %s", s)
	}
}

func TestConnectionsThatFail(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, c := range []struct {
		name, answer, code string
		tries              int
	}{
		{"closed at once", "", dialect.CodeNetwork, 3},
		{"no HTTP", "220 mail.example ESMTP\r\n", dialect.CodeNetwork, 3},
		{"closed in the middle", head + "Content-Length: 1000\r\n\r\n{\"choices\":[", dialect.CodeNetwork, 3},
		{"cut in a chunk", head + "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"choices\":[", dialect.CodeNetwork, 3},
		{"endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n",
			dialect.CodeNetwork, 3},
		{"cut without a length", head + "\r\n{\"choices\":[", dialect.CodeBadResponse, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tries atomic.Int32
			url := raw(t, func(string) string { tries.Add(1); return c.answer })
			_, _, err := ask(made(t, config.Provider{Kind: "openai-compatible", BaseURL: url}, Options{}), false)
			if code(err) != c.code || int(tries.Load()) != c.tries {
				t.Errorf("%v after %d tries, want %s after %d", err, tries.Load(), c.code, c.tries)
			}
		})
	}
	_, _, err := ask(made(t, config.Provider{Kind: "openai-compatible", BaseURL: "http://127.0.0.1:1/v1"}, Options{}),
		false)
	if code(err) != dialect.CodeNetwork || !strings.Contains(err.Error(), "refused") ||
		!strings.Contains(err.Error(), "3 tries") {
		t.Errorf("nobody listens: %v", err)
	}
	tls := httptest.NewTLSServer(says(200, fine))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer tls.Close()
	w := &waits{}
	if _, _, err = ask(made(t, config.Provider{Kind: "openai-compatible", BaseURL: tls.URL}, Options{wait: w.wait}),
		false); code(err) != dialect.CodeNetwork || len(w.pauses) > 0 {
		t.Errorf("a certificate of nobody: %v, tried again %d times", err, len(w.pauses))
	}
}

func TestTheCallersDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := at(t, nil, silent).Chat(ctx, &record.Request{}, nil); code(err) != dialect.CodeTimeout ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestNothingElseIsAsked sends a redirect to another server, and has a proxy in the environment: neither hears
// anything.
func TestNothingElseIsAsked(t *testing.T) {
	var heard atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer other.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, other.URL)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, _, err := ask(at(t, nil, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		}), false)
		if code(err) != dialect.CodeBadRequest || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: %v", status, err)
		}
	}
	far := made(t, config.Provider{Kind: "openai-compatible", BaseURL: "http://nowhere.invalid/v1"}, Options{})
	if _, _, err := ask(far, false); code(err) != dialect.CodeNetwork {
		t.Error(err)
	}
	// net/http reads the proxies of the environment once a process, so that asking is not enough.
	if tr, ok := transport(false).(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("a proxy of the environment would be used")
	}
	if heard.Load() != 0 {
		t.Errorf("somebody else was asked %d times", heard.Load())
	}
	if onlyLoopback("tcp", "192.0.2.1:80", nil) == nil || onlyLoopback("tcp6", "[::ffff:192.0.2.1]:80", nil) == nil ||
		onlyLoopback("tcp6", "[::1]:80", nil) != nil {
		t.Error("localhost may be another machine")
	}
}

func TestErrorBodies(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"model\nnot \u001b[31mfound","type":"x"}}`: "web: HTTP 400 Bad Request: model not [31mfound",
		`{"error":"no such\u202emodel"}`:                                "web: HTTP 400 Bad Request: no such model",
		`{"message":"größer"}`:                                          "web: HTTP 400 Bad Request: größer",
		`{"error":{"hint":[1]}}`:                                        `web: HTTP 400 Bad Request: {"hint":[1]}`,
		"<html><h1>bad\x00\xff</h1>":                                    "web: HTTP 400 Bad Request: a web page (bad)",
		`[{"error":{"message":"bad","code":400}}]`:                      "web: HTTP 400 Bad Request: bad",
		`{"detail":[{"loc":["body","x"],"msg":"Extra"}]}`:               "web: HTTP 400 Bad Request: body.x: Extra",
		`{"error":{"message":"from far: {\"message\":\"no\"}"}}`:        "web: HTTP 400 Bad Request: from far: no",
		"": "web: HTTP 400 Bad Request",
		strings.Repeat("ä", 10000): "web: HTTP 400 Bad Request: " + strings.Repeat("ä", dialect.MaxQuoteBytes/2) +
			"...",
	} {
		if _, _, err := ask(at(t, nil, says(400, body)), false); err.Error() != want {
			t.Errorf("%.40q: %v", body, err)
		}
	}
}
