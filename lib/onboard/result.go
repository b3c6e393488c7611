package onboard

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/terminal"
)

// Result is what was written, and what the provider said.
type Result struct {
	Config   string `json:"config"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Autonomy string `json:"autonomy"`
	Way      string `json:"way"`
	Where    string `json:"where"`
	Tested   bool   `json:"tested"`
	Answer   string `json:"answer,omitzero"`
}

// WriteText says it, and how to change it.
func (r Result) WriteText(w io.Writer) error {
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

// apply writes the answers, if the result is valid, and tests the provider.
func (i *Interview) apply(ctx context.Context) (Result, error) {
	edited, err := i.edited(i.paths)
	if err != nil {
		return Result{}, fmt.Errorf("change the configuration: %w", err)
	}
	if err := config.Check(edited, i.paths); err != nil {
		return Result{}, err
	}
	if err := durable.Replace(i.paths.File, edited, 0o600); err != nil {
		return Result{}, fmt.Errorf("write the configuration: %w", err)
	}
	i.farewell()
	if name := i.KeyEnv; i.given("api-key-env") && name != "" && name != "-" &&
		strings.TrimSpace(i.getenv(name)) == "" {
		i.tell("%s is not set here: set it to the key before you start clawsh.", name)
	}
	cfg, err := config.Load(i.paths)
	if err != nil {
		return Result{}, err
	}
	r := Result{Config: i.paths.File, Provider: cfg.DefaultProvider, Model: cfg.DefaultModel,
		Autonomy: cfg.Security.Autonomy, Way: wayOf(cfg.Security),
		Where: cfg.Workspace.Mode}
	if i.NoTest || i.wayOnly {
		return r, nil
	}
	var report struct {
		Text string `json:"text"`
	}
	if err := i.query(ctx, cfg, os.Stderr, &report, "test", r.Provider); err != nil {
		return Result{}, fmt.Errorf("the configuration was written, but the provider does not answer: %w", err)
	}
	r.Tested, r.Answer = true, report.Text
	return r, nil
}
