package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// admit sees to it that there is a workspace to work in: where the configuration says "here" and nobody has said yet that the
// agent may work here, whoever sits at the terminal is asked.
func admit(ctx context.Context, c *command.Call, cfg *config.Config) error {
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
		return envelope.Errorf(envelope.ExitDenied, "workspace.untrusted", "the agent may not work in %s: you said no", terminal.Escape(w.Dir)).
			WithHint("-C DIR lets it work in another directory once; if you change your mind: clawsh workspace trust %s", terminal.Escape(w.Dir))
	}
	if err := changeTrust(cfg, func(t config.Trust) (config.Trust, error) {
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

// changeTrust changes the list of trusted directories, one process at a time.
func changeTrust(cfg *config.Config, change func(config.Trust) (config.Trust, error)) error {
	lock, err := os.OpenFile(filepath.Join(cfg.Home, "workspaces.lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("lock the trusted directories: %w", err)
	}
	defer lock.Close()
	if err := durable.Flock(lock, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the trusted directories: %w", err)
	}
	t, err := config.ReadTrust(cfg.Home)
	if err != nil {
		return err
	}
	if t, err = change(t); err != nil {
		return err
	}
	text, err := t.Text()
	if err != nil {
		return err
	}
	return durable.Replace(config.TrustPath(cfg.Home), text, 0o600)
}

// trustResult are the directories in which the agent may work.
type trustResult struct {
	said       string         // what was just done
	Path       string         `json:"path"`
	Workspaces []trustedPlace `json:"workspaces"`
}

type trustedPlace struct {
	config.Trusted
	State string `json:"state"` // ok, replaced, or missing
}

func (r trustResult) WriteText(w io.Writer) error {
	if r.said != "" {
		fmt.Fprintln(w, r.said)
	}
	if len(r.Workspaces) == 0 {
		_, err := fmt.Fprintln(w, "no directory is trusted (to trust one: clawsh workspace trust DIR)")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Workspaces {
		note := map[string]string{"missing": "  (no longer exists)", "replaced": "  (replaced by another directory)"}[p.State]
		fmt.Fprintf(t, "%s\t%s%s\n", p.TrustedAt, terminal.Escape(p.Path), note)
	}
	return t.Flush()
}

func trusted(cfg *config.Config, said string) (command.Result, error) {
	t, err := config.ReadTrust(cfg.Home)
	if err != nil {
		return nil, err
	}
	r := trustResult{said: said, Path: config.TrustPath(cfg.Home), Workspaces: []trustedPlace{}}
	for _, w := range t.Workspaces {
		r.Workspaces = append(r.Workspaces, trustedPlace{w, w.State()})
	}
	return r, nil
}

func workspaceList() command.Command {
	return command.Command{Name: "workspace list", Access: checking, Summary: "list the trusted directories, in which the agent may work",
		Long:    `They matter if the configuration says workspace = "here".`,
		Example: "clawsh workspace list",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			return trusted(cfg, "")
		}}
}

func workspaceTrust() command.Command {
	return command.Command{Name: "workspace trust", Access: stopping, Args: "DIR", Min: 1, Max: 1, Summary: "trust a directory: let the agent work in it",
		Long: `If the configuration says workspace = "here", the workspace is the directory where clawsh is started, or the root of its
repository, if that directory is trusted. A directory that replaces a trusted one is not trusted.`,
		Example: "clawsh workspace trust .",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			w, err := p.Candidate(cfg, c.Args[0])
			if err != nil {
				return nil, err
			}
			if _, err := os.Stat(cfg.Home); err != nil {
				return nil, envelope.Errorf(envelope.ExitConfig, "not_initialised", "clawsh is not set up in %s", cfg.Home).WithHint("run: clawsh init")
			}
			w.TrustedAt = record.Now()
			if err := changeTrust(cfg, func(t config.Trust) (config.Trust, error) { return t.With(w), nil }); err != nil {
				return nil, err
			}
			return trusted(cfg, "trusted "+terminal.Escape(w.Path))
		}}
}

func workspaceForget() command.Command {
	return command.Command{Name: "workspace forget", Access: stopping, Complete: workspaces, Args: "DIR", Min: 1, Max: 1, Summary: "stop trusting a directory",
		Example: "clawsh workspace forget .",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			dir := c.Args[0]
			if abs, err := filepath.Abs(dir); err == nil {
				dir = abs
			}
			if err := changeTrust(cfg, func(t config.Trust) (config.Trust, error) {
				rest, found := t.Without(dir)
				if real, err := filepath.EvalSymlinks(dir); err == nil && !found {
					rest, found = t.Without(real)
				}
				if !found {
					return t, envelope.Errorf(envelope.ExitError, "not_found", "%s is not among the trusted directories", terminal.Escape(dir)).WithHint("clawsh workspace list")
				}
				return rest, nil
			}); err != nil {
				return nil, err
			}
			return trusted(cfg, "forgotten: "+terminal.Escape(dir))
		}}
}
