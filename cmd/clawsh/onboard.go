package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/sibling"
	"clawsh/lib/terminal"
)

// onboardOptions are the answers, from flags or from the terminal.
type onboardOptions struct {
	kind, baseURL, keyEnv, model, autonomy, way, where string
	noTest, wayOnly                                    bool
	context                                            int // of conversations, in tokens; 0: as it is
	present                                            *config.Config
}

type onboardResult struct {
	Config   string `json:"config"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Autonomy string `json:"autonomy"`
	Way      string `json:"way"`
	Where    string `json:"where"`
	Tested   bool   `json:"tested"`
	Answer   string `json:"answer,omitzero"`
}

func (r onboardResult) WriteText(w io.Writer) error {
	way := r.Way
	if way == "" {
		way = "your own settings"
	}
	fmt.Fprintf(w, "wrote %s: provider %s, model %s, autonomy %s (way to work: %s), workspace %s\n",
		r.Config, r.Provider, terminal.Escape(r.Model), r.Autonomy, way, r.Where)
	if r.Tested {
		fmt.Fprintf(w, "the provider answers: %s\n", terminal.Escape(r.Answer))
	}
	change(w)
	try := "Try: clawsh \"Hello\"\n"
	if r.Where == "here" {
		try = "Try, in a project's directory: clawsh \"What files are here?\"\n"
	}
	_, err := io.WriteString(w, try)
	return err
}

func onboard() command.Command {
	var o onboardOptions
	return command.Command{Name: "onboard", Summary: "connect a model: ask on the terminal for what flags leave open, and test the provider",
		Long: "Checks each answer at once: whether the server is reachable, which models it has, whether the key's variable is\n" +
			"set. Then asks how the model may work (strict, middle or full) and where, and writes the answers to config.toml,\n" +
			"keeping everything else in it. It never asks for a key, only for the name of its environment variable.\n" +
			"--way, --autonomy and --where without a provider change only these settings.",
		Example: "clawsh onboard\nclawsh onboard --kind openai-compatible --base-url http://localhost:1234/v1 --model local-model --way middle",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.kind, "kind", "", "provider `KIND`: "+offered())
			f.StringVar(&o.baseURL, "base-url", "", "the provider's base `URL`, up to and including /v1")
			f.StringVar(&o.keyEnv, "api-key-env", "", "the `NAME` of the environment variable with the key")
			f.StringVar(&o.model, "model", "", "the model's `NAME`")
			f.StringVar(&o.way, "way", "", "the `WAY` the model may work: strict, middle or full")
			f.StringVar(&o.where, "where", "", "the `PLACE` where it may work: here (where clawsh is started) or fixed (workspace_dir)")
			f.StringVar(&o.autonomy, "autonomy", "", "set only the autonomy `LEVEL`: readonly, supervised or full")
			f.BoolVar(&o.noTest, "no-test", false, "do not send a test message")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			if err := o.check(c); err != nil {
				return nil, err
			}
			if o.present, err = before(p); err != nil {
				return nil, err
			}
			i := interview{onboardOptions: &o, call: c, paths: p}
			if !o.wayOnly {
				if err := i.run(ctx); err != nil {
					return nil, err
				}
			}
			if _, err := setUp(ctx, c, p); err != nil {
				return nil, err
			}
			return o.apply(ctx, c, p)
		}}
}

// check refuses flags that cannot be meant.
func (o *onboardOptions) check(c *command.Call) error {
	given := func(flags ...string) bool { return slices.ContainsFunc(flags, c.Changed) }
	switch {
	case c.Changed("way") && c.Changed("autonomy"):
		return envelope.Errorf(envelope.ExitUsage, "usage", "--way and --autonomy cannot be combined")
	case c.Changed("way") && len(waySettings(o.way)) == 0:
		return envelope.Errorf(envelope.ExitUsage, "usage", "--way %s: want strict, middle or full", terminal.Escape(o.way))
	case strings.Contains(o.model, "://"):
		return envelope.Errorf(envelope.ExitUsage, "usage", "--model %s: want the name of a model, not a URL", terminal.Escape(o.model))
	case c.Changed("where") && o.where != "here" && o.where != "fixed":
		return envelope.Errorf(envelope.ExitUsage, "usage", "--where %s: want here or fixed", terminal.Escape(o.where))
	}
	o.wayOnly = given("way", "autonomy", "where") && !given("kind", "base-url", "api-key-env", "model")
	return nil
}

// settings are the answers as configuration. An unknown kind or level is left to the validation, which names the
// allowed values.
func (o *onboardOptions) settings() []config.Setting {
	set := waySettings(o.way)
	if o.autonomy != "" {
		set = append(set, config.Setting{Key: "security.autonomy", Value: o.autonomy})
	}
	if o.where != "" {
		set = append(set, config.Setting{Key: "workspace", Value: o.where})
	}
	if o.wayOnly {
		return set
	}
	if o.kind == "mock" {
		return append(set, config.Setting{Key: "default_provider", Value: "local"}, config.Setting{Key: "default_model", Value: "mock"})
	}
	const provider = "providers.models.openai_compatible."
	set = append(set, config.Setting{Key: "default_provider", Value: "openai_compatible"}, config.Setting{Key: "default_model", Value: o.model},
		config.Setting{Key: provider + "kind", Value: o.kind}, config.Setting{Key: provider + "base_url", Value: o.baseURL},
		config.Setting{Key: provider + "model", Value: o.model})
	if o.context > 0 {
		set = append(set, config.Setting{Key: "context.max_tokens", Raw: strconv.Itoa(o.context)},
			config.Setting{Key: "context.compact_at_tokens", Raw: strconv.Itoa(o.context - o.context/4)})
	}
	switch o.keyEnv {
	case "": // not said: what is there stays, at its server
		if o.leaves() {
			set = append(set, config.Setting{Key: provider + "api_key_env", Value: ""})
		}
	case "-":
		set = append(set, config.Setting{Key: provider + "api_key_env", Value: ""})
	default:
		set = append(set, config.Setting{Key: provider + "api_key_env", Value: o.keyEnv})
	}
	return set
}

// apply writes the answers, if the result is valid, and tests the provider.
func (o *onboardOptions) apply(ctx context.Context, c *command.Call, p config.Paths) (command.Result, error) {
	edited, err := o.edited(p)
	if err != nil {
		return nil, fmt.Errorf("change the configuration: %w", err)
	}
	if err := config.Check(edited, p); err != nil {
		return nil, err
	}
	if err := durable.Replace(p.File, edited, 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	o.farewell(c)
	if name := o.keyEnv; c.Changed("api-key-env") && name != "" && name != "-" && strings.TrimSpace(c.Getenv(name)) == "" {
		fmt.Fprintf(c.Stderr, "%s is not set here: set it to the key before you start clawsh.\n", terminal.Escape(name))
	}
	cfg, err := config.Load(p)
	if err != nil {
		return nil, err
	}
	r := onboardResult{Config: p.File, Provider: cfg.DefaultProvider, Model: cfg.DefaultModel, Autonomy: cfg.Security.Autonomy, Way: wayOf(cfg.Security),
		Where: cfg.Workspace.Mode}
	if o.noTest || o.wayOnly {
		return r, nil
	}
	return r.test(ctx, c, cfg)
}

// test sends one message to the provider, through the one program that may see the key.
func (r onboardResult) test(ctx context.Context, c *command.Call, cfg *config.Config) (command.Result, error) {
	var report struct {
		Text string `json:"text"`
	}
	s := sibling.New(cfg, c.Environ, os.Stderr)
	if err := s.Query(ctx, &report, "claw-llm", "test", r.Provider); err != nil {
		return nil, fmt.Errorf("the configuration was written, but the provider does not answer: %w", err)
	}
	r.Tested, r.Answer = true, report.Text
	return r, nil
}
