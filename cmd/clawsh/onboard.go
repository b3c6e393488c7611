package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/terminal"
)

// onboardOptions are the answers, from flags or from the terminal.
type onboardOptions struct {
	kind, baseURL, keyEnv, model, autonomy string
	noTest                                 bool
}

type onboardResult struct {
	Config   string `json:"config"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Autonomy string `json:"autonomy"`
	Tested   bool   `json:"tested"`
	Answer   string `json:"answer,omitzero"`
}

func (r onboardResult) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "wrote %s: provider %s, model %s, autonomy %s\n", r.Config, r.Provider, terminal.Escape(r.Model), r.Autonomy)
	if r.Tested {
		fmt.Fprintf(w, "the provider answers: %s\n", terminal.Escape(r.Answer))
	}
	_, err := io.WriteString(w, "Try: clawsh \"Hello\"\n")
	return err
}

func onboard() command.Command {
	var o onboardOptions
	return command.Command{Name: "onboard", Summary: "connect a model: asks on the terminal what flags do not say, and tests the provider",
		Long: "Writes the answers into config.toml, keeping everything else in it. A key is never asked for: only the name of the\n" +
			"environment variable that will hold it.",
		Example: "clawsh onboard\nclawsh onboard --kind openai-compatible --base-url http://localhost:1234/v1 --model local-model --autonomy supervised",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.kind, "kind", "", "provider `KIND`: mock or openai-compatible")
			f.StringVar(&o.baseURL, "base-url", "", "the provider's base `URL`, up to and including /v1")
			f.StringVar(&o.keyEnv, "api-key-env", "", "the `NAME` of the environment variable that holds the key")
			f.StringVar(&o.model, "model", "", "the model's `NAME`")
			f.StringVar(&o.autonomy, "autonomy", "", "`LEVEL`: readonly, supervised or full")
			f.BoolVar(&o.noTest, "no-test", false, "do not send a test message")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			if err := o.questions(ctx, c); err != nil {
				return nil, err
			}
			if _, err := setUp(ctx, c, p); err != nil {
				return nil, err
			}
			return o.apply(ctx, c, p)
		}}
}

// question is one thing to ask: skipped if a flag has answered it or when says that it does not apply.
type question struct {
	flag, text, preset string
	answer             *string
	when               func() bool
}

func always() bool { return true }

// questions asks for what is missing.
func (o *onboardOptions) questions(ctx context.Context, c *command.Call) error {
	remote := func() bool { return o.kind == "openai-compatible" }
	for _, q := range []question{
		{"kind", "Provider (mock, openai-compatible)", "openai-compatible", &o.kind, always},
		{"base-url", "Base URL", "http://localhost:1234/v1", &o.baseURL, remote},
		{"api-key-env", "Environment variable with the API key (- for none)", "OPENAI_API_KEY", &o.keyEnv, remote},
		{"model", "Model", "local-model", &o.model, remote},
		{"autonomy", "Autonomy (readonly, supervised, full)", "supervised", &o.autonomy, always},
	} {
		if c.Changed(q.flag) || !q.when() {
			continue
		}
		text, err := terminal.AskLine(ctx, fmt.Sprintf("%s [%s]: ", q.text, q.preset), 1000)
		if errors.Is(err, terminal.ErrNoTerminal) {
			if q.flag == "api-key-env" {
				continue // no key is a fine answer for a local server
			}
			return envelope.Errorf(envelope.ExitUsage, "usage", "--%s is missing and there is no terminal to ask on", q.flag)
		}
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		if *q.answer = strings.TrimSpace(text); *q.answer == "" {
			*q.answer = q.preset
		}
	}
	return nil
}

// settings are the answers as configuration. An unknown kind or level is left to the validation, which names the
// allowed values.
func (o *onboardOptions) settings() []config.Setting {
	set := []config.Setting{{Key: "security.autonomy", Value: o.autonomy}}
	if o.kind == "mock" {
		return append(set, config.Setting{Key: "default_provider", Value: "local"}, config.Setting{Key: "default_model", Value: "mock"})
	}
	const provider = "providers.models.openai_compatible."
	set = append(set, config.Setting{Key: "default_provider", Value: "openai_compatible"}, config.Setting{Key: "default_model", Value: o.model},
		config.Setting{Key: provider + "kind", Value: o.kind}, config.Setting{Key: provider + "base_url", Value: o.baseURL},
		config.Setting{Key: provider + "model", Value: o.model})
	switch o.keyEnv {
	case "": // not said: what is there stays
	case "-":
		set = append(set, config.Setting{Key: provider + "api_key_env", Value: ""})
	default:
		set = append(set, config.Setting{Key: provider + "api_key_env", Value: o.keyEnv})
	}
	return set
}

// apply writes the answers, if the result is valid, and tests the provider.
func (o *onboardOptions) apply(ctx context.Context, c *command.Call, p config.Paths) (command.Result, error) {
	old, err := os.ReadFile(p.File)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	edited, err := config.Edit(old, o.settings())
	if err != nil {
		return nil, fmt.Errorf("change the configuration: %w", err)
	}
	if err := config.Check(edited, p); err != nil {
		return nil, err
	}
	if err := durable.Replace(p.File, edited, 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	cfg, err := config.Load(p)
	if err != nil {
		return nil, err
	}
	r := onboardResult{Config: p.File, Provider: cfg.DefaultProvider, Model: cfg.DefaultModel, Autonomy: cfg.Security.Autonomy}
	if o.noTest {
		return r, nil
	}
	return r.test(ctx, c, cfg)
}

// test sends one message to the provider, through the one program that may see the key.
func (r onboardResult) test(ctx context.Context, c *command.Call, cfg *config.Config) (command.Result, error) {
	var report struct {
		Text string `json:"text"`
	}
	s := loop.NewSiblings(cfg, c.Environ, os.Stderr)
	if err := s.QueryWithSecrets(ctx, &report, "claw-llm", "test", r.Provider); err != nil {
		return nil, fmt.Errorf("the configuration is written, but the provider does not answer: %w", err)
	}
	r.Tested, r.Answer = true, report.Text
	return r, nil
}
