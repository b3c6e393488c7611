package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/onboard"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

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
	var t terminal.Table
	for _, p := range r.Workspaces {
		note := map[string]string{"missing": "  (no longer exists)",
			"replaced": "  (replaced by another directory)"}[p.State]
		t.Row(p.TrustedAt, p.Path+note)
	}
	return t.Write(w)
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
	return command.Command{Name: "workspace list", Access: checking,
		Summary: "list the trusted directories, in which the agent may work",
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
	return command.Command{Name: "workspace trust", Access: stopping, Args: "DIR", Min: 1, Max: 1,
		Summary: "trust a directory: let the agent work in it",
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
				return nil, envelope.Errorf(envelope.ExitConfig, "not_initialised", "clawsh is not set up in %s",
					cfg.Home).WithHint("run: clawsh init")
			}
			w.TrustedAt = record.Now()
			if err := onboard.ChangeTrust(cfg.Home,
				func(t config.Trust) (config.Trust, error) { return t.With(w), nil }); err != nil {
				return nil, err
			}
			return trusted(cfg, "trusted "+terminal.Escape(w.Path))
		}}
}

func workspaceForget() command.Command {
	return command.Command{Name: "workspace forget", Access: stopping, Complete: workspaces, Args: "DIR", Min: 1,
		Max: 1, Summary: "stop trusting a directory",
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
			if err := onboard.ChangeTrust(cfg.Home, func(t config.Trust) (config.Trust, error) {
				rest, found := t.Without(dir)
				if real, err := filepath.EvalSymlinks(dir); err == nil && !found {
					rest, found = t.Without(real)
				}
				if !found {
					return t, envelope.Errorf(envelope.ExitError, "not_found",
						"%s is not among the trusted directories", terminal.Escape(dir)).
						WithHint("to see them, run: clawsh workspace list")
				}
				return rest, nil
			}); err != nil {
				return nil, err
			}
			return trusted(cfg, "forgotten: "+terminal.Escape(dir))
		}}
}
