package onboard

import (
	"cmp"

	"clawsh/lib/config"
)

// defaults are the answers that stand in brackets. An empty keyEnv or model is for the server to say.
type defaults struct{ kind, baseURL, keyEnv, model, way, where string }

// presets are what is configured now, or what is recommended where nobody has chosen anything yet.
func presets(cfg *config.Config) defaults {
	kinds, _ := config.Offered()
	p, d := cfg.Providers[served], defaults{kind: kinds[0], way: "middle", where: "here"}
	d.baseURL = cmp.Or(p.BaseURL, "http://localhost:1234/v1")
	if fresh(cfg) {
		return d
	}
	if cfg.Providers[cfg.DefaultProvider].Kind == "mock" {
		d.kind = "mock"
	}
	d.keyEnv, d.model = cmp.Or(p.APIKeyEnv, "-"), p.Model
	if cfg.DefaultProvider == served {
		d.model = cmp.Or(cfg.DefaultModel, p.Model)
	}
	d.way, d.where = cmp.Or(wayOf(cfg.Security), d.way), cfg.Workspace.Mode
	return d
}

// fresh tells whether all that onboard asks about is still as clawsh came.
func fresh(cfg *config.Config) bool {
	came := config.Default(cfg.Home)
	p, q := cfg.Providers[served], came.Providers[served]
	return cfg.DefaultProvider == came.DefaultProvider && p.BaseURL == q.BaseURL && p.APIKeyEnv == q.APIKeyEnv &&
		p.Model == q.Model &&
		wayOf(cfg.Security) == wayOf(came.Security) && cfg.Workspace.Mode == came.Workspace.Mode
}
