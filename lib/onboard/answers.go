package onboard

import (
	"slices"
	"strconv"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/terminal"
)

// Answers are what somebody wants, from flags or from the terminal.
type Answers struct {
	Kind, BaseURL, KeyEnv, Model, Autonomy, Way, Where string
	NoTest                                             bool

	wayOnly bool
	context int            // of conversations, in tokens; 0: as it is
	present *config.Config // what is configured now
}

// Check refuses flags that cannot be meant. given tells which there are.
func (o *Answers) Check(given func(flag string) bool) error {
	any := func(flags ...string) bool { return slices.ContainsFunc(flags, given) }
	switch {
	case given("way") && given("autonomy"):
		return envelope.Errorf(envelope.ExitUsage, "usage", "--way and --autonomy cannot be combined")
	case given("way") && len(waySettings(o.Way)) == 0:
		return envelope.Errorf(envelope.ExitUsage, "usage", "--way %s: want strict, middle or full",
			terminal.Escape(o.Way))
	case strings.Contains(o.Model, "://"):
		return envelope.Errorf(envelope.ExitUsage, "usage", "--model %s: want the name of a model, not a URL",
			terminal.Escape(o.Model))
	case given("where") && o.Where != "here" && o.Where != "fixed":
		return envelope.Errorf(envelope.ExitUsage, "usage", "--where %s: want here or fixed", terminal.Escape(o.Where))
	}
	o.wayOnly = any("way", "autonomy", "where") && !any("kind", "base-url", "api-key-env", "model")
	return nil
}

// settings are the answers as configuration. An unknown kind or level is left to the validation, which names the
// allowed values.
func (o *Answers) settings() []config.Setting {
	set := waySettings(o.Way)
	if o.Autonomy != "" {
		set = append(set, config.Setting{Key: "security.autonomy", Value: o.Autonomy})
	}
	if o.Where != "" {
		set = append(set, config.Setting{Key: "workspace", Value: o.Where})
	}
	if o.wayOnly {
		return set
	}
	if o.Kind == "mock" {
		return append(set, config.Setting{Key: "default_provider", Value: "local"},
			config.Setting{Key: "default_model", Value: "mock"})
	}
	const provider = "providers.models.openai_compatible."
	set = append(set, config.Setting{Key: "default_provider", Value: "openai_compatible"},
		config.Setting{Key: "default_model", Value: o.Model},
		config.Setting{Key: provider + "kind", Value: o.Kind},
		config.Setting{Key: provider + "base_url", Value: o.BaseURL},
		config.Setting{Key: provider + "model", Value: o.Model})
	if o.context > 0 {
		set = append(set, config.Setting{Key: "context.max_tokens", Raw: strconv.Itoa(o.context)},
			config.Setting{Key: "context.compact_at_tokens", Raw: strconv.Itoa(o.context - o.context/4)})
	}
	switch o.KeyEnv {
	case "": // not said: what is there stays, at its server
		if o.leaves() {
			set = append(set, config.Setting{Key: provider + "api_key_env", Value: ""})
		}
	case "-":
		set = append(set, config.Setting{Key: provider + "api_key_env", Value: ""})
	default:
		set = append(set, config.Setting{Key: provider + "api_key_env", Value: o.KeyEnv})
	}
	return set
}
