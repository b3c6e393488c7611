package provider

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// Model is a model of a provider.
type Model = dialect.Model

// The maximum length of a list of models.
const (
	maxModels      = 10_000
	maxModelsBytes = 8 << 20
)

// Models asks a provider for its models, sorted by name.
func Models(ctx context.Context, p Provider) ([]Model, error) {
	switch p := p.(type) {
	case *server:
		return p.models(ctx)
	case *mock:
		return []Model{{ID: p.model, Configured: true}}, nil
	case *reliable:
		var names []string
		for _, inner := range p.providers {
			names = append(names, inner.Name())
		}
		return nil, &Error{Provider: p.name, Code: dialect.CodeConfig, Message: "has no models of its own",
			Hint: "ask one of its providers: " + strings.Join(names, ", ")}
	}
	return nil, &Error{Provider: p.Name(), Code: dialect.CodeConfig, Message: "cannot list models"}
}

func (c *server) models(caller context.Context) ([]Model, error) {
	if c.wire.List == "" {
		return nil, &Error{Provider: c.name, Code: dialect.CodeConfig, Message: "cannot list models: kind " + c.kind +
			" has no list"}
	}
	creds, e := c.secrets()
	if e != nil {
		return nil, e
	}
	a := &attempt{server: c, creds: creds, keys: creds.keys(c.keys, c.endpoint)}
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	defer time.AfterFunc(c.timeout, func() { cancel(silence{after: c.timeout}) }).Stop()
	r, err := a.request(ctx, http.MethodGet, c.wire.List, "application/json", nil)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	res, err := a.server.http.Do(r)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		e := a.status(res)
		if e.Status == http.StatusNotFound && e.Code != dialect.CodeAuth {
			e.Message += " (GET " + c.wire.List + ": some servers have no list of models)"
		}
		return nil, e
	}
	in := bufio.NewReader(&source{r: res.Body, left: maxModelsBytes})
	if first, err := begin(in); err == nil && first == '<' {
		return nil, a.webPage(res, in)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	models, err := c.dialect.Models(b, a.keys)
	if err == nil && len(models) > maxModels {
		err = fmt.Errorf("the answer has more than %d models", maxModels)
	}
	if err != nil {
		return nil, a.unfit(err)
	}
	for i, m := range models {
		id := record.Cut(a.keys.Scrub(dialect.Printable(m.ID)), dialect.MaxIDBytes)
		models[i].ID, models[i].Configured = id, id == c.model
	}
	models = slices.DeleteFunc(models, func(m Model) bool { return m.ID == "" })
	slices.SortFunc(models, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(models, func(a, b Model) bool { return a.ID == b.ID }), nil
}
