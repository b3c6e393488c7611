package main

import (
	"context"
	"errors"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/sandbox"
)

// confineSpec is what claw-exec confine is told.
type confineSpec struct {
	Engine    string         `json:"engine"` // a mode of the sandbox, or an engine; auto if empty
	Workspace string         `json:"workspace"`
	Home      string         `json:"home,omitzero"`
	Dir       string         `json:"dir,omitzero"` // the workspace if empty
	Env       []string       `json:"env,omitzero"`
	Read      []string       `json:"read,omitzero"`
	Hidden    []string       `json:"hidden,omitzero"`
	Layout    string         `json:"layout,omitzero"`
	GitWrite  bool           `json:"git_write,omitzero"`
	Image     string         `json:"image,omitzero"`
	Limits    sandbox.Limits `json:"limits"`
	TimeoutS  float64        `json:"timeout_s"`
}

func confineCommand() command.Command {
	return command.Command{Name: "confine", Access: command.Unconfined, Hidden: true, Args: "SPEC -- PROGRAM [ARG…]",
		Min: 2, Max: -1,
		Summary: "run a program in the sandbox",
		Long: `Runs PROGRAM in the sandbox described by SPEC, a JSON object (docs/SECURITY.md), and exits with the code of PROGRAM; 71
if the sandbox cannot be set up, 2 if the time is up. PROGRAM must be an absolute path.`,
		Example: `claw-exec confine '{"engine":"auto","workspace":"/srv/w","timeout_s":5,"limits":{…}}' -- /bin/ls`,
		Run:     runConfined}
}

func runConfined(ctx context.Context, c *command.Call) (command.Result, error) {
	var spec confineSpec
	if err := record.Decode([]byte(c.Args[0]), &spec); err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the description of the sandbox: %w", err)
	}
	if spec.TimeoutS <= 0 {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "timeout_s is not set: a program needs a time limit")
	}
	if spec.Engine == "" {
		spec.Engine = "auto"
	}
	if spec.Dir == "" {
		spec.Dir = spec.Workspace
	}
	s, err := sandbox.New(spec.Engine, sandbox.Place{Workspace: spec.Workspace, Layout: spec.Layout,
		GitWrite: spec.GitWrite, Home: spec.Home,
		Read: spec.Read, Hidden: spec.Hidden, Image: spec.Image, Refuse: refused(c)}, spec.Limits)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitSandbox, "sandbox.invalid", "set up the sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(spec.TimeoutS*float64(time.Second)), errTimeUp)
	defer cancel()
	exit, _, err := s.Run(ctx, sandbox.Adapt{}, sandbox.Program{Argv: c.Args[1:], Dir: spec.Dir, Env: spec.Env},
		sandbox.Streams{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr})
	var none *sandbox.Unavailable
	switch {
	case errors.As(err, &none):
		return nil, envelope.Errorf(envelope.ExitSandbox, "sandbox.unavailable", "%w", err).WithHint("%s", none.Hint())
	case err != nil:
		return nil, envelope.Errorf(126, "program.not_started", "run %s: %w", c.Args[1], err)
	case errors.Is(context.Cause(ctx), errTimeUp):
		return nil, envelope.Errorf(envelope.ExitLimit, "killed", "%s was killed: %w", c.Args[1], errTimeUp)
	case exit.Killed != "":
		return nil, envelope.Errorf(exit.Code, "killed", "%s was killed: %s", c.Args[1], exit.Killed)
	}
	return command.Records(), command.Exit(exit.Code)
}

var errTimeUp = errors.New("time is up")

// refused are places that no workspace may be or contain.
func refused(c *command.Call) []string {
	var out []string
	for _, name := range []string{"HOME", "CLAWSH_HOME"} {
		if v := c.Getenv(name); v != "" {
			out = append(out, v)
		}
	}
	return out
}
