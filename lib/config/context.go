package config

import (
	"cmp"
	"path/filepath"

	"clawsh/lib/envelope"
	"clawsh/lib/place"
)

// Context limits what a model is sent of a conversation, in tokens as estimated by package conversation.
type Context struct {
	MaxTokens       int `toml:"max_tokens" want:"0..100000000"`        // 0: no bound
	CompactAtTokens int `toml:"compact_at_tokens" want:"0..100000000"` // 0: never
	// ProjectFile is the name of a file in the workspace's root that the model gets as data; "" means none.
	ProjectFile string `toml:"project_file"`
}

func (v *validator) projectFile(name string) {
	if name != "" && !made(name, 64, lower+upper+digits+".", lower+upper+digits+"._-") || name == "." || name == ".." {
		v.problem("context.project_file",
			"%s: want the plain name of a file in the workspace, of letters, digits, ., _ and -", quote("", name))
	}
}

// Forbids reports whether a file of the workspace is below a forbidden path.
func (c *Config) Forbids(name string) bool {
	for _, f := range c.Security.ForbiddenPaths {
		for _, dir := range []string{c.WorkspaceDir, c.Workspace.Real} {
			if dir != "" && place.Within(f, filepath.Join(dir, name)) {
				return true
			}
		}
	}
	return false
}

// Model is the provider and the model that answer an agent, where a turn names none or one: what is named, else the
// agent's, else the configured ones. The agent "" is the default one.
func (c *Config) Model(agent, provider, model string) (string, string) {
	a := c.Agents[cmp.Or(agent, c.DefaultAgent)]
	provider = cmp.Or(provider, a.Provider, c.DefaultProvider)
	return provider, cmp.Or(model, a.Model, c.Providers[provider].Model)
}

// CheckPrices returns an error for a provider and a model whose cost is not known: with a cost limit, every provider
// that may answer needs a price.
func (c *Config) CheckPrices(provider, model string) error { return c.checkPrices(provider, model, 0) }

func (c *Config) checkPrices(provider, model string, depth int) error {
	p := c.Providers[provider]
	if p.Kind == "reliable" && depth <= len(c.Providers) {
		for _, name := range p.Providers {
			if err := c.checkPrices(name, model, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	model = c.modelAt(provider, model)
	if _, known := c.Cost(provider, model, 0, 0); known {
		return nil
	}
	return envelope.Errorf(envelope.ExitConfig, "limit.no_price",
		"the turn has a cost limit, but the price of the model %s of %s is not configured", quote("", model),
		quote("", provider)).
		WithHint("add [[usage.prices]] with model = %s to the configuration, or use limits.max_tokens",
			quote("", model))
}

// modelAt is the model that a provider uses if asked for that one.
func (c *Config) modelAt(provider, model string) string {
	p := c.Providers[provider]
	if p.Kind == "mock" {
		return cmp.Or(p.Model, "mock") // it is what it is
	}
	return cmp.Or(model, p.Model)
}

// Price is what a response cost. A model that reports itself under another name than it was asked for by, and has no
// price under that, costs what the one that was asked for does.
func (c *Config) Price(provider, asked, reported string, inputTokens, outputTokens int64) (cost float64, known bool) {
	if cost, known = c.Cost(provider, reported, inputTokens, outputTokens); known {
		return cost, true
	}
	return c.Cost(provider, c.modelAt(provider, asked), inputTokens, outputTokens)
}
