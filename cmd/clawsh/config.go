package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/policy"
)

type validResult struct {
	File     string           `json:"file"`
	Found    bool             `json:"found"`
	Problems []config.Problem `json:"problems"`
}

func (v validResult) WriteText(w io.Writer) error {
	if len(v.Problems) > 0 {
		return nil // the error says it all
	}
	what := "ok"
	if !v.Found {
		what = "there is no such file: the defaults are in force"
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", v.File, what)
	return err
}

func configValidate() command.Command {
	return command.Command{Name: "config validate", Access: checking,
		Summary: "check the configuration and report every error in it",
		Example: "clawsh config validate",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			cfg, err := config.Load(p)
			var problems *config.Problems
			if errors.As(err, &problems) {
				return validResult{File: p.File, Found: true, Problems: problems.List}, err
			}
			if err != nil {
				return nil, err
			}
			return checked(p.File, cfg)
		}}
}

// checked holds the rules to their examples, the user's own and the built-in ones.
func checked(file string, cfg *config.Config) (command.Result, error) {
	r := validResult{File: file, Found: cfg.Found(), Problems: []config.Problem{}}
	judging := *cfg
	if cfg.CheckWorkspace() != nil { // a file can be checked where the agent may not work, too
		judging.Workspace, judging.WorkspaceDir = config.Workspace{}, cfg.Workspace.Fixed
	}
	err := errors.Join(policy.CheckRules(&judging, policy.OS{}), policy.CheckPrograms())
	if err == nil {
		return r, nil
	}
	for line := range strings.Lines(err.Error()) {
		r.Problems = append(r.Problems, config.Problem{Line: 1, Column: 1, Key: "security.rules",
			Message: strings.TrimPrefix(strings.TrimSpace(line), "security.rules: ")})
	}
	return r, &config.Problems{File: file, List: r.Problems}
}

type showResult struct {
	File string `json:"file"`
	Home string `json:"home"`
	TOML string `json:"toml"`
}

func (s showResult) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, s.TOML)
	return err
}

func configShow(name string) command.Command {
	return command.Command{Name: name, Access: checking,
		Summary: "show the configuration in force, with defaults and without secrets",
		Example: "clawsh " + name,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			return showResult{File: cfg.File, Home: cfg.Home, TOML: cfg.DisplayTOML()}, nil
		}}
}
