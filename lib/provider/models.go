package provider

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"clawsh/lib/record"
)

// Model is one that a provider has. ContextLength, in tokens, is 0 where the provider does not say.
type Model struct {
	ID            string `json:"id"`
	ContextLength int64  `json:"context_length,omitzero"`
	Configured    bool   `json:"configured"`
}

// A list of models is at most so long.
const (
	maxModels      = 10_000
	maxModelsBytes = 8 << 20
)

// Models asks a provider which models it has, by name.
func Models(ctx context.Context, p Provider) ([]Model, error) {
	switch p := p.(type) {
	case *chat:
		return p.models(ctx)
	case *mock:
		return []Model{{ID: p.model, Configured: true}}, nil
	case *reliable:
		var names []string
		for _, inner := range p.providers {
			names = append(names, inner.Name())
		}
		return nil, &Error{Provider: p.name, Code: CodeConfig, Message: "has no models of its own", Hint: "ask one of its providers: " + strings.Join(names, ", ")}
	}
	return nil, &Error{Provider: p.Name(), Code: CodeConfig, Message: "cannot list models"}
}

func (c *chat) models(caller context.Context) ([]Model, error) {
	creds, e := c.secrets()
	if e != nil {
		return nil, e
	}
	a := &attempt{chat: c, creds: creds, keys: creds.keys(c.keys, c.endpoint)}
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	defer time.AfterFunc(c.timeout, func() { cancel(silence{after: c.timeout}) }).Stop()
	r, err := a.request(ctx, http.MethodGet, "/models", "application/json", nil)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	res, err := a.http.Do(r)
	if err != nil {
		return nil, a.transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		e := a.status(res)
		if e.Status == http.StatusNotFound && e.Code != CodeAuth {
			e.Message += " (GET /models: some servers have no list of models)"
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
	return a.readModels(b)
}

// readModels reads a list of models, in any of the forms that servers have for it.
func (a *attempt) readModels(b []byte) ([]Model, error) {
	var list struct {
		Data   record.Raw `json:"data"`
		Models record.Raw `json:"models"`
		Error  record.Raw `json:"error"`
	}
	all := record.Raw(b)
	if record.DecodeOpen(b, &list) == nil {
		if e := a.reported(list.Error); e != nil {
			return nil, e
		}
		if all = list.Data; !given(all) {
			all = list.Models
		}
	}
	elements, err := record.Elements(all)
	if err != nil || len(elements) > maxModels {
		return nil, a.malformed("the answer is not a list of models")
	}
	models := []Model{}
	for _, raw := range elements {
		if m := a.readModel(raw); m.ID != "" {
			models = append(models, m)
		}
	}
	slices.SortFunc(models, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(models, func(a, b Model) bool { return a.ID == b.ID }), nil
}

func (a *attempt) readModel(raw record.Raw) Model {
	if s, ok := asText(raw); ok {
		return a.listedModel(s, 0)
	}
	var m struct {
		ID       record.Raw `json:"id"`
		Model    record.Raw `json:"model"`
		Name     record.Raw `json:"name"`
		Length   record.Raw `json:"context_length"`
		MaxLen   record.Raw `json:"max_model_len"`
		Window   record.Raw `json:"context_window"`
		MaxInput record.Raw `json:"max_context_length"`
	}
	if record.DecodeOpen(raw, &m) != nil {
		return Model{}
	}
	id, _ := asText(m.ID)
	model, _ := asText(m.Model)
	name, _ := asText(m.Name)
	var length int64
	for _, l := range []record.Raw{m.Length, m.MaxLen, m.Window, m.MaxInput} {
		if length == 0 && record.DecodeOpen(l, &length) != nil {
			length = 0
		}
	}
	return a.listedModel(cmp.Or(id, model, name), max(length, 0))
}

func (a *attempt) listedModel(id string, length int64) Model {
	return Model{ID: clip(a.keys.scrub(printable(id)), maxIDBytes), ContextLength: length, Configured: id == a.chat.model}
}
