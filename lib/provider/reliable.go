package provider

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"clawsh/lib/record"
)

// reliable tries providers in order.
type reliable struct {
	name      string
	providers []Provider
	log       *slog.Logger
}

func (r *reliable) Name() string { return r.name }

func (r *reliable) Kind() string { return "reliable" }

func (r *reliable) Capabilities() Capabilities {
	c := Capabilities{Streaming: true, Tools: true}
	for _, p := range r.providers {
		c.Streaming, c.Tools = c.Streaming && p.Capabilities().Streaming, c.Tools && p.Capabilities().Tools
	}
	return c
}

// fallsBack are the failures behind which another provider may do better.
var fallsBack = []string{CodeNetwork, CodeAuth, CodeTimeout, CodeServer, CodeRateLimit}

// Chat implements Provider: the first answer counts. A provider that has begun to answer is not fallen back from: its text
// has been seen.
func (r *reliable) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	var causes []string
	for i, p := range r.providers {
		own := *req
		if i > 0 {
			own.Model = "" // the model was named for the first one
		}
		resp, err := p.Chat(ctx, &own, onDelta)
		var e *Error
		if err == nil {
			return resp, nil
		}
		if !errors.As(err, &e) || !slices.Contains(fallsBack, e.Code) || e.streamed || ctx.Err() != nil {
			return nil, err
		}
		causes = append(causes, e.Error())
		if i+1 < len(r.providers) {
			r.log.Warn("provider fallback", "event", "provider_fallback", "from", p.Name(), "to", r.providers[i+1].Name(), "code", e.Code)
			continue
		}
		return nil, &Error{Provider: r.name, Code: e.Code, Message: "no provider answered: " + strings.Join(causes, "; "), Retryable: e.Retryable,
			Status: e.Status, Err: err}
	}
	return nil, &Error{Provider: r.name, Code: CodeConfig, Message: "it has no providers"}
}
