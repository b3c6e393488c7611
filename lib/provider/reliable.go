package provider

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// reliable tries providers in order.
type reliable struct {
	name      string
	providers []Provider
	log       *slog.Logger
}

func newReliable(cfg *config.Config, name string, p config.Provider, o Options, above []string) (Provider, error) {
	r := &reliable{name: name, log: o.Log}
	for _, n := range p.Providers {
		inner, err := build(cfg, n, o, above)
		if err != nil {
			return nil, err
		}
		r.providers = append(r.providers, inner)
	}
	if len(r.providers) == 0 {
		return nil, &Error{Provider: name, Code: dialect.CodeConfig, Message: "has no providers",
			Hint: "name them, in order, in its providers"}
	}
	return r, nil
}

// Name implements Provider.
func (r *reliable) Name() string { return r.name }

// Kind implements Provider.
func (r *reliable) Kind() string { return "reliable" }

// Capabilities implements Provider: what all of them can do.
func (r *reliable) Capabilities() Capabilities {
	c := Capabilities{Streaming: true, Tools: true}
	for _, p := range r.providers {
		c.Streaming, c.Tools = c.Streaming && p.Capabilities().Streaming, c.Tools && p.Capabilities().Tools
	}
	return c
}

// fallsBack are the failures after which another provider may succeed. A bad request is bad for all of them.
var fallsBack = []string{dialect.CodeNetwork, dialect.CodeAuth, dialect.CodeTimeout, dialect.CodeServer,
	dialect.CodeRateLimit, dialect.CodeQuota}

// Chat implements Provider: the first answer counts. There is no fallback once a provider has begun to answer, since
// its text has been seen. The request's model is for the first provider; the others use their own.
func (r *reliable) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response,
	error) {
	var failures []*Error
	for i, p := range r.providers {
		own := *req
		if i > 0 {
			own.Model = ""
			last := failures[i-1]
			r.log.Warn("provider fallback", "event", "provider_fallback", "from", r.providers[i-1].Name(), "to",
				p.Name(), "code", last.Code)
		}
		resp, err := p.Chat(ctx, &own, onDelta)
		if err == nil {
			return resp, nil
		}
		var e *Error
		if !errors.As(err, &e) || e.streamed || ctx.Err() != nil || !slices.Contains(fallsBack, e.Code) {
			return nil, err
		}
		failures = append(failures, e)
	}
	return nil, r.fail(failures)
}

// fail returns the error if no provider answered. It has the last one's code, every cause, and the first hint.
func (r *reliable) fail(failures []*Error) *Error {
	last := failures[len(failures)-1]
	all := &Error{Provider: r.name, Code: last.Code, Status: last.Status, Err: last}
	var causes []string
	for _, e := range failures {
		causes = append(causes, e.Error())
		all.Retryable = all.Retryable || e.Retryable
		if all.Hint == "" && e.Hint != "" {
			all.Hint = e.Provider + ": " + e.Hint
		}
	}
	all.Message = "no provider answered: " + strings.Join(causes, "; ")
	return all
}
