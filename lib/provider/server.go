package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Defaults of a provider that is a server.
const (
	defaultTimeout  = 120 * time.Second
	defaultRetries  = 2
	defaultMaxBytes = 1 << 20
)

// server is a provider that is reached over HTTP, in one dialect.
type server struct {
	*endpoint
	kind              string
	dialect           dialect.Dialect
	model             string
	timeout, idle     time.Duration
	barren            time.Duration // the longest time in which signs of life arrive but nothing of an answer
	retries, maxBytes int
	temperature       *float64
	maxTokens         int
	extra             []record.Member // fields that the configuration adds to each request
	log               *slog.Logger
	keys              dialect.Keys
	wait              func(context.Context, time.Duration) error

	mu      sync.Mutex
	without map[string]bool // fields that the server has rejected during this process; guarded by mu
}

func newServer(cfg *config.Config, name string, p config.Provider, o Options, d dialect.Dialect) (Provider, error) {
	e, err := newEndpoint(name, p, o, d.Wire())
	if err != nil {
		return nil, err
	}
	c := &server{endpoint: e, kind: p.Kind, dialect: d, model: p.Model, timeout: seconds(p.TimeoutS, defaultTimeout),
		retries: defaultRetries, maxBytes: maxBytes(cfg),
		temperature: p.Temperature, maxTokens: p.MaxOutputTokens, log: o.Log, keys: dialect.Keys{Redactor: o.Secrets},
		wait: o.wait, without: map[string]bool{}}
	c.idle = seconds(p.IdleTimeoutS, c.timeout)
	c.barren = max(barrenFactor*max(c.timeout, c.idle), barrenLeast)
	if p.MaxRetries != nil {
		c.retries = *p.MaxRetries
	}
	for _, field := range slices.Sorted(maps.Keys(p.Body)) {
		raw, err := record.Encode(p.Body[field])
		if err != nil {
			return nil, &Error{Provider: name, Code: dialect.CodeConfig, Message: "body." + short(field) +
				" cannot be sent as JSON", Hint: "clawsh config validate"}
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
func (c *server) Name() string { return c.name }

// Kind implements Provider.
func (c *server) Kind() string { return c.kind }

// Capabilities implements Provider.
func (c *server) Capabilities() Capabilities { return Capabilities{Streaming: true, Tools: true} }

// Chat implements Provider.
func (c *server) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	creds, e := c.secrets()
	if e != nil {
		return nil, e
	}
	a := attempt{server: c, creds: creds, keys: creds.keys(c.keys, c.endpoint), model: cmp.Or(req.Model, c.model),
		onDelta: onDelta}
	malformed := false
	for try := 0; ; {
		body, err := c.question(req, a.model)
		if err != nil {
			return nil, &Error{Provider: c.name, Code: dialect.CodeBadRequest, Message: "encode the request: " +
				err.Error(), Err: err}
		}
		resp, err := a.run(ctx, body)
		if err == nil {
			return resp, nil
		}
		if !errors.As(err, &e) || ctx.Err() != nil {
			return nil, tried(err, try+1)
		}
		if name := c.concede(e, body); name != "" {
			c.log.Warn("the provider does not accept a field; leaving it out from now on", "event", "provider_without",
				"provider", c.name, "field", name)
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

// question returns what the server is sent. The request's model and temperature override the configuration.
func (c *server) question(req *record.Request, model string) (record.Raw, error) {
	c.mu.Lock()
	without := maps.Clone(c.without)
	c.mu.Unlock()
	temperature := req.Temperature
	if temperature == nil {
		temperature = c.temperature
	}
	return c.dialect.Ask(&dialect.Question{Request: req, Provider: c.name, Model: model, Temperature: temperature,
		MaxTokens: c.maxTokens, Extra: c.extra, Without: without})
}

// concede leaves out the field that the server rejected from now on, and returns its name, or "".
func (c *server) concede(e *Error, body record.Raw) string {
	if e.streamed || e.Code != dialect.CodeBadRequest ||
		!slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented},
			e.Status) {
		return ""
	}
	name := c.dialect.Refused(e.said, body)
	if name != "" {
		c.mu.Lock()
		c.without[name] = true
		c.mu.Unlock()
	}
	return name
}

// pause logs and waits before the next attempt.
func (c *server) pause(ctx context.Context, e *Error, try int) error {
	pause := backoff(try, e.retryAfter)
	c.log.Warn("provider retry", "event", "provider_retry", "provider", c.name, "attempt", try+1, "code", e.Code,
		"status", e.Status,
		"wait_ms", pause.Milliseconds())
	if c.wait(ctx, pause) != nil {
		return ended(c.name, ctx)
	}
	return nil
}

// tried adds the number of attempts to an error.
func tried(err error, times int) error {
	var e *Error
	if times > 1 && errors.As(err, &e) {
		e.Message += fmt.Sprintf(" (%s)", spelling.Count(times, "try"))
	}
	return err
}

// accepted are the content types of an answer: a stream, or from servers that cannot stream a complete answer.
const accepted = "text/event-stream, application/json"

func (a *attempt) request(ctx context.Context, method, path, accept string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.server.url(path), bodyReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a.server.dress(r, a.creds, accept)
	return r, nil
}
