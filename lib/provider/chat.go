package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// Defaults of an openai-compatible provider.
const (
	defaultTimeout     = 120 * time.Second
	defaultIdleTimeout = 60 * time.Second
	defaultRetries     = 2
	defaultMaxBytes    = 1 << 20
	dialTimeout        = 10 * time.Second
	maxHeaderBytes     = 64 << 10
)

// chat is a server with an OpenAI-compatible /chat/completions endpoint.
type chat struct {
	name, url, keyEnv, model string
	local                    bool // base_url is on this machine
	plain                    bool // base_url is http
	timeout, idle            time.Duration
	retries, maxBytes        int
	temperature              *float64
	maxTokens                int
	getenv                   func(string) string
	log                      *slog.Logger
	keys                     keys
	http                     *http.Client
	wait                     func(context.Context, time.Duration) error
}

func newChat(cfg *config.Config, name string, p config.Provider, o Options) (Provider, error) {
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, &Error{Provider: name, Code: CodeConfig, Message: "base_url is no http or https URL that can be used",
			Hint: "such as http://localhost:1234/v1, without user or password"}
	}
	c := &chat{name: name, url: strings.TrimRight(p.BaseURL, "/") + "/chat/completions", keyEnv: p.APIKeyEnv, model: p.Model,
		local: loopback(u.Hostname()), plain: u.Scheme == "http", timeout: seconds(p.TimeoutS, defaultTimeout),
		idle: seconds(p.IdleTimeoutS, defaultIdleTimeout), retries: defaultRetries, maxBytes: maxBytes(cfg), temperature: p.Temperature,
		maxTokens: p.MaxOutputTokens, getenv: o.Getenv, log: o.Log, keys: keys{o.Secrets}, wait: o.wait}
	if p.MaxRetries != nil {
		c.retries = *p.MaxRetries
	}
	if o.HTTP == nil {
		o.HTTP = transport(c.local)
	}
	// A redirect would carry the key to wherever it points.
	c.http = &http.Client{Transport: o.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if _, err := c.key(); err != nil && err.Code == CodeConfig {
		return nil, err
	}
	return c, nil
}

// transport connects directly: a proxy that the environment names would see what is asked.
func transport(local bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if local {
		dialer.Control = onlyLoopback
	}
	return &http.Transport{Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 4}
}

// onlyLoopback holds a name such as localhost, for which plain http is good enough, to what it says.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Unmap().IsLoopback() {
		return nil
	}
	return errors.New("the name stands for this machine, but its address is another one")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func seconds(s float64, preset time.Duration) time.Duration {
	if s <= 0 {
		return preset
	}
	return time.Duration(s * float64(time.Second))
}

func maxBytes(cfg *config.Config) int {
	if cfg.Limits.MaxResponseBytes <= 0 {
		return defaultMaxBytes
	}
	return cfg.Limits.MaxResponseBytes
}

// Name implements Provider.
func (c *chat) Name() string { return c.name }

// Kind implements Provider.
func (c *chat) Kind() string { return "openai-compatible" }

// Capabilities implements Provider.
func (c *chat) Capabilities() Capabilities { return Capabilities{Streaming: true, Tools: true} }

// key reads the key, without which only a server on this machine is asked.
func (c *chat) key() (string, *Error) {
	if c.keyEnv == "" {
		return "", nil
	}
	key := strings.TrimSpace(c.getenv(c.keyEnv))
	switch {
	case key == "" && !c.local:
		return "", &Error{Provider: c.name, Code: CodeAuth, Message: "the environment variable " + c.keyEnv + " is not set",
			Hint: "set " + c.keyEnv + " to the key before you start clawsh"}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &Error{Provider: c.name, Code: CodeAuth, Message: "the value of " + c.keyEnv + " cannot be a key: it holds characters that no header may",
			Hint: "is there a line break or a typographic quote in " + c.keyEnv + "?"}
	case key != "" && c.plain && !c.local:
		return "", &Error{Provider: c.name, Code: CodeConfig, Message: "base_url is plain http and not on this machine: the key would cross the network readable",
			Hint: "use https, or remove api_key_env"}
	}
	return key, nil
}

// Chat implements Provider.
func (c *chat) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	key, e := c.key()
	if e != nil {
		return nil, e
	}
	q := c.question(req, onDelta != nil)
	body, err := record.Encode(q)
	if err != nil {
		return nil, &Error{Provider: c.name, Code: CodeBadRequest, Message: "encode the request: " + err.Error(), Err: err}
	}
	for try := 0; ; try++ {
		a := &attempt{chat: c, key: key, keys: c.keys.with(c.keyEnv, key), model: q.Model, onDelta: onDelta}
		resp, err := a.run(ctx, body)
		if err == nil {
			return resp, nil
		}
		if !errors.As(err, &e) || !e.again() || try >= c.retries || ctx.Err() != nil {
			return nil, tried(err, try+1)
		}
		pause := backoff(try, e.retryAfter)
		c.log.Warn("provider retry", "event", "provider_retry", "provider", c.name, "attempt", try+1, "code", e.Code, "status", e.Status,
			"wait_ms", pause.Milliseconds())
		if c.wait(ctx, pause) != nil {
			return nil, ended(c.name, ctx)
		}
	}
}

// tried says in an error how often it was met.
func tried(err error, times int) error {
	var e *Error
	if times > 1 && errors.As(err, &e) {
		e.Message += fmt.Sprintf(" (%d tries)", times)
	}
	return err
}
