package config

import "fmt"

// Variables that stand in place of keys of the configuration. CLAWSH_MODEL stands in place of --model.
const (
	envAgent   = "CLAWSH_DEFAULT_AGENT"
	envBackend = "CLAWSH_LLM_BACKEND"
)

// override takes the default agent and the backend from the environment. The backend "stub" is the built-in mock model,
// whatever provider is configured: for tests and for trying things out, without a key and without a network.
func (p Paths) override(c *Config, problems *Problems) {
	if p.getenv == nil {
		return
	}
	if agent := p.getenv(envAgent); agent != "" {
		if !isAgent(agent) {
			problems.List = append(problems.List,
				Problem{Line: 1, Column: 1, Key: envAgent,
					Message: fmt.Sprintf("%s: want lower-case letters, digits, _ and -", quote("", agent))})
		}
		c.DefaultAgent = agent
	}
	switch backend := p.getenv(envBackend); backend {
	case "":
	case "stub":
		c.DefaultProvider, c.DefaultModel = "stub", "mock"
		c.Providers = map[string]Provider{"stub": {Kind: "mock", Model: "mock"}}
		for id, a := range c.Agents {
			a.Provider, a.Model = "", ""
			c.Agents[id] = a
		}
	default:
		problems.List = append(problems.List,
			Problem{Line: 1, Column: 1, Key: envBackend,
				Message: fmt.Sprintf("%s: want stub, the only backend", quote("", backend))})
	}
}
