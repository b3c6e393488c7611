package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Usage says what tokens cost.
type Usage struct {
	Currency string  `toml:"currency"` // what prices are in; clawsh does not convert
	Prices   []Price `toml:"prices,omitempty"`
}

// Price is what a model costs, in the currency, for a million tokens. Model is its name, or the beginning of it with a
// * behind; Provider, if set, is the only provider whose price it is. Of the prices that fit the first counts.
type Price struct {
	Model            string  `toml:"model"`
	Provider         string  `toml:"provider,omitempty"`
	InputPerMillion  float64 `toml:"input_per_million" want:"0..2147483647"`
	OutputPerMillion float64 `toml:"output_per_million" want:"0..2147483647"`
}

// Cost returns what the tokens of a model cost, in Usage.Currency; known is false if the configuration has no price
// for it.
func (c *Config) Cost(provider, model string, inputTokens, outputTokens int64) (cost float64, known bool) {
	for _, p := range c.Usage.Prices {
		if p.fits(provider, model) {
			return (float64(inputTokens)*p.InputPerMillion + float64(outputTokens)*p.OutputPerMillion) / 1e6, true
		}
	}
	return 0, false
}

func (p Price) fits(provider, model string) bool {
	if p.Provider != "" && p.Provider != provider {
		return false
	}
	if start, ok := strings.CutSuffix(p.Model, "*"); ok {
		return strings.HasPrefix(model, start)
	}
	return p.Model == model
}

func (v *validator) usage(u *Usage, c *Config) {
	if len(u.Currency) == 0 || len(u.Currency) > 8 ||
		strings.ContainsFunc(u.Currency, func(r rune) bool { return r <= ' ' || r > '~' }) {
		v.problem("usage.currency", "%s: want a short name, such as USD", quote("", u.Currency))
	}
	for i, p := range u.Prices {
		key := element("usage.prices", i)
		v.values(key, fmt.Sprintf("price %d: ", i+1), reflect.ValueOf(p))
		if p.Model == "" {
			v.problem(key+".model", "price %d has no model: want its name, or * for all", i+1)
		}
		if _, ok := c.Providers[p.Provider]; p.Provider != "" && !ok {
			v.problem(key+".provider", "price %d: %s: there is no such provider", i+1, quote("", p.Provider))
		}
	}
}
