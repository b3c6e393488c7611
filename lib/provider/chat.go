package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Defaults of an openai-compatible provider.
const (
	defaultTimeout  = 120 * time.Second
	defaultRetries  = 2
	defaultMaxBytes = 1 << 20
)

// chat is a server with an OpenAI-compatible /chat/completions endpoint.
type chat struct {
	*endpoint
	model             string
	timeout, idle     time.Duration
	barren            time.Duration // the longest time in which nothing of an answer comes, but signs of life
	retries, maxBytes int
	temperature       *float64
	maxTokens         int
	extra             []record.Member // fields that the configuration adds to each request
	without           refused
	log               *slog.Logger
	keys              keys
	wait              func(context.Context, time.Duration) error
}

func newChat(cfg *config.Config, name string, p config.Provider, o Options) (Provider, error) {
	e, err := newEndpoint(name, p, o)
	if err != nil {
		return nil, err
	}
	c := &chat{endpoint: e, model: p.Model, timeout: seconds(p.TimeoutS, defaultTimeout), retries: defaultRetries, maxBytes: maxBytes(cfg),
		temperature: p.Temperature, maxTokens: p.MaxOutputTokens, log: o.Log, keys: keys{o.Secrets}, wait: o.wait}
	c.idle = seconds(p.IdleTimeoutS, c.timeout)
	c.barren = max(barrenFactor*max(c.timeout, c.idle), barrenLeast)
	if p.MaxRetries != nil {
		c.retries = *p.MaxRetries
	}
	for _, field := range slices.Sorted(maps.Keys(p.Body)) {
		raw, err := record.Encode(p.Body[field])
		if err != nil {
			return nil, &Error{Provider: name, Code: CodeConfig, Message: "body." + short(field) + " cannot be sent as JSON", Hint: "clawsh config validate"}
		}
		c.extra = append(c.extra, record.Member{Name: field, Value: raw})
	}
	return c, nil
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

// Chat implements Provider.
func (c *chat) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	creds, e := c.secrets()
	if e != nil {
		return nil, e
	}
	a := attempt{chat: c, creds: creds, keys: creds.keys(c.keys, c.endpoint), model: c.modelOf(req), onDelta: onDelta}
	malformed := false
	for try := 0; ; {
		body, err := c.question(req)
		if err != nil {
			return nil, &Error{Provider: c.name, Code: CodeBadRequest, Message: "encode the request: " + err.Error(), Err: err}
		}
		resp, err := a.run(ctx, body)
		if err == nil {
			return resp, nil
		}
		if !errors.As(err, &e) || ctx.Err() != nil {
			return nil, tried(err, try+1)
		}
		if name := c.without.concede(e, body); name != "" {
			c.log.Warn("the provider does not accept a field; it is left out from now on", "event", "provider_without", "provider", c.name, "field", name)
			continue
		}
		once := e.malformed && !malformed && !e.streamed
		malformed = malformed || e.malformed
		if try >= c.retries || !e.again() && !once {
			return nil, tried(err, try+1)
		}
		if err := c.pause(ctx, e, try); err != nil {
			return nil, err
		}
		try++
	}
}

// pause waits before the next try, and says so.
func (c *chat) pause(ctx context.Context, e *Error, try int) error {
	pause := backoff(try, e.retryAfter)
	c.log.Warn("provider retry", "event", "provider_retry", "provider", c.name, "attempt", try+1, "code", e.Code, "status", e.Status,
		"wait_ms", pause.Milliseconds())
	if c.wait(ctx, pause) != nil {
		return ended(c.name, ctx)
	}
	return nil
}

// tried says in an error how often it was met.
func tried(err error, times int) error {
	var e *Error
	if times > 1 && errors.As(err, &e) {
		e.Message += fmt.Sprintf(" (%s)", spelling.Count(times, "try"))
	}
	return err
}

// accepted is what is taken as an answer: a stream, and from servers that cannot stream the whole.
const accepted = "text/event-stream, application/json"

func (a *attempt) request(ctx context.Context, method, path, accept string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.url(path), bodyReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a.dress(r, a.creds, accept)
	return r, nil
}
