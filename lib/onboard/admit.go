package onboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// Admit sees to it that there is a workspace to work in: where the configuration says "here" and nobody has said yet
// that the agent may work here, whoever sits at the terminal is asked.
func Admit(ctx context.Context, cfg *config.Config) error {
	err := cfg.CheckWorkspace()
	if !errors.Is(err, config.ErrUntrusted) {
		return err
	}
	w := cfg.Workspace
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cfg.Limits.ApprovalTimeoutS*float64(time.Second)))
	defer cancel()
	yes, asked := terminal.Confirm(ctx, trustQuestion(cfg))
	switch {
	case errors.Is(asked, terminal.ErrNoTerminal):
		return err
	case asked != nil:
		return fmt.Errorf("ask about the workspace: %w", asked)
	case !yes:
		return envelope.Errorf(envelope.ExitDenied, "workspace.untrusted", "the agent may not work in %s: you said no",
			terminal.Escape(w.Dir)).
			WithHint("-C DIR lets it work in another directory once; if you change your mind: clawsh workspace trust %s", terminal.Escape(w.Dir))
	}
	if err := ChangeTrust(cfg.Home, func(t config.Trust) (config.Trust, error) {
		return t.With(config.Trusted{Path: w.Real, Directory: config.Mark(w.Real, w.ID), TrustedAt: record.Now()}), nil
	}); err != nil {
		return err
	}
	return cfg.Admit()
}

func trustQuestion(cfg *config.Config) string {
	changed := ""
	if envelope.From(cfg.Workspace.Err).Code == "workspace.changed" {
		changed = "\nThis is not the directory that you trusted: another one has replaced it."
	}
	dir := terminal.Escape(cfg.Workspace.Dir)
	return fmt.Sprintf(`%s
Let the agent work in %s?
It can read everything in there and send it to the model. At the level "%s" it %s.
A yes is remembered; to undo it: clawsh workspace forget %s
[y/N] `, changed, dir, cfg.Security.Autonomy, does(cfg.Security), dir)
}

// does says what the agent does at a level, and what it asks about there.
func does(s config.Security) string {
	harmless, high := s.Harmless == "low" && s.Sandbox != "off", s.High == "ask"
	switch {
	case s.Autonomy == "readonly" && harmless:
		return "changes nothing and runs only commands that read"
	case s.Autonomy == "readonly":
		return "changes nothing and runs no programs"
	case s.Autonomy == "full":
		return "asks only before it writes files that other programs run, such as .envrc"
	}
	text := "asks before every change and every program"
	if high {
		text += ", risky ones included"
	}
	if harmless {
		text += "; commands that only read run without a question"
	}
	return text
}
