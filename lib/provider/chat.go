package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// Defaults of an openai-compatible provider.
const (
	defaultTimeout     = 120 * time.Second
	defaultIdleTimeout = 60 * time.Second
	defaultRetries     = 2
)

// chat is a server with an OpenAI-compatible /chat/completions endpoint.
type chat struct {
	name, url, keyEnv, model string
	local                    bool
	timeout, idle            time.Duration
	retries, maxBytes        int
	temperature              *float64
	maxTokens                int
	getenv                   func(string) string
	log                      *slog.Logger
	http                     *http.Client
	wait                     func(context.Context, time.Duration) error
}

func newChat(cfg *config.Config, name string, p config.Provider, o Options) (Provider, error) {
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" {
		return nil, &Error{Provider: name, Code: CodeConfig, Message: "base_url is no URL"}
	}
	c := &chat{name: name, url: strings.TrimSuffix(p.BaseURL, "/") + "/chat/completions", keyEnv: p.APIKeyEnv, model: p.Model,
		local: loopback(u.Hostname()), timeout: seconds(p.TimeoutS, defaultTimeout), idle: seconds(p.IdleTimeoutS, defaultIdleTimeout),
		retries: defaultRetries, maxBytes: cfg.Limits.MaxResponseBytes, temperature: p.Temperature, maxTokens: p.MaxOutputTokens,
		getenv: o.Getenv, log: o.Log, wait: o.wait}
	if p.MaxRetries != nil {
		c.retries = *p.MaxRetries
	}
	rt := o.HTTP
	if rt == nil {
		rt = &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	}
	// a redirect would carry the key to wherever it points
	c.http = &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if u.Scheme == "http" && !c.local && p.APIKeyEnv != "" && o.Getenv(p.APIKeyEnv) != "" {
		return nil, &Error{Provider: name, Code: CodeConfig, Message: "base_url is plain http and not on this machine: the key would cross the network readable",
			Hint: "use https, or remove api_key_env"}
	}
	return c, nil
}

func seconds(s float64, preset time.Duration) time.Duration {
	if s == 0 {
		return preset
	}
	return time.Duration(s * float64(time.Second))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *chat) Name() string { return c.name }

func (c *chat) Kind() string { return "openai-compatible" }

func (c *chat) Capabilities() Capabilities { return Capabilities{Streaming: true, Tools: true} }

// key reads the key, which only a server on this machine may do without.
func (c *chat) key() (string, error) {
	if c.keyEnv == "" {
		return "", nil
	}
	key := strings.TrimSpace(c.getenv(c.keyEnv))
	if key == "" && !c.local {
		return "", &Error{Provider: c.name, Code: CodeAuth, Message: "the environment variable " + c.keyEnv + " is not set",
			Hint: "export " + c.keyEnv + "=… before you start clawsh"}
	}
	return key, nil
}

// Chat implements Provider. It tries again on 429, 5xx and network errors, but not once a part of the answer was passed on.
func (c *chat) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	body, err := c.request(req, onDelta != nil)
	if err != nil {
		return nil, &Error{Provider: c.name, Code: CodeBadRequest, Message: "encode the request: " + err.Error(), Err: err}
	}
	for try := 0; ; try++ {
		a := &attempt{chat: c, key: key, onDelta: onDelta}
		resp, err := a.run(ctx, body)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Retryable || e.streamed || try >= c.retries || ctx.Err() != nil {
			return resp, err
		}
		pause := backoff(try, e.retryAfter)
		c.log.Warn("provider retry", "event", "provider_retry", "provider", c.name, "code", e.Code, "status", e.Status, "wait_ms", pause.Milliseconds())
		if c.wait(ctx, pause) != nil {
			return nil, a.cancelled(ctx)
		}
	}
}

// attempt is one try.
type attempt struct {
	*chat
	key      string
	onDelta  func(string) error
	streamed bool
}

// run sends the request and reads the answer. A timer ends the connection when nothing comes for too long.
func (a *attempt) run(ctx context.Context, body []byte) (*record.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(a.timeout, func() { cancel(errIdle{a.timeout}) })
	defer watchdog.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, a.fail(CodeConfig, false, err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "clawsh")
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	res, err := a.http.Do(r)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, a.status(res)
	}
	in := &limited{r: res.Body, left: int64(a.maxBytes)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return a.stream(ctx, in, func() { watchdog.Reset(a.idle) })
	}
	return a.whole(ctx, in)
}

// whole reads an answer that is not streamed.
func (a *attempt) whole(ctx context.Context, in io.Reader) (*record.Response, error) {
	b, err := io.ReadAll(in)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	b = a.scrubBytes(b)
	var m completion
	if err := record.DecodeOpen(b, &m); err != nil {
		return nil, a.fail(CodeBadResponse, false, fmt.Errorf("the answer is not what /chat/completions answers: %w", err))
	}
	resp, err := a.respond(&m)
	if err != nil {
		return nil, err
	}
	if len(b) <= maxPayloadBytes {
		resp.RawProviderPayload = record.Raw(bytes.TrimSpace(b))
	}
	if a.onDelta != nil && resp.FinalText != "" {
		return resp, a.onDelta(resp.FinalText)
	}
	return resp, nil
}

// maxPayloadBytes bounds the payload that is kept with a response.
const maxPayloadBytes = 64 << 10

// errTooLarge is the end of an answer that is longer than allowed.
var errTooLarge = errors.New("the answer is longer than limits.max_response_bytes")

// limited reads up to a limit and fails behind it, instead of pretending that the answer ends there.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, errTooLarge
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
