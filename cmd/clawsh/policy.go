package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// policyCommand shows the policy, which the gate knows, and the sandbox, which claw-exec knows by trying it.
func policyCommand() command.Command {
	return command.Command{Name: "policy",
		Summary: "show the security policy in force, and which sandboxes work on this machine",
		Example: "clawsh policy",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			stages := sibling.New(cfg, c.Environ, os.Stderr)
			if !c.JSON() {
				return command.Records(), writePolicy(ctx, c, cfg, stages)
			}
			var policy, preflight record.Raw
			if err := stages.Query(ctx, &policy, "claw-gate", "policy"); err != nil {
				return nil, err
			}
			if err := stages.Query(ctx, &preflight, "claw-exec", "sandbox"); err != nil &&
				(!unusable(err) || len(preflight) == 0) {
				return nil, err
			}
			project, err := record.Encode(project(cfg))
			if err != nil {
				return nil, err
			}
			return policyReport{Policy: policy, Preflight: preflight, Project: project}.join()
		}}
}

// policyReport is the gate's answer with claw-exec's in it.
type policyReport struct {
	Policy, Preflight, Project record.Raw
}

// joined is JSON that is put into the envelope as it is.
type joined struct{ record.Raw }

// WriteText implements command.Result. Text is written by the stages themselves.
func (joined) WriteText(io.Writer) error { return nil }

func (r policyReport) join() (command.Result, error) {
	body, ok := bytes.CutSuffix(bytes.TrimSpace(r.Policy), []byte("}"))
	if !ok {
		return nil, fmt.Errorf("the policy of claw-gate is not a JSON object")
	}
	return joined{record.Raw(slices.Concat(body, []byte(`,"project_file":`), r.Project, []byte(`,"preflight":`),
		r.Preflight, []byte("}")))}, nil
}

// projectReport says which file of the workspace the model is told about the project.
type projectReport struct {
	Name   string `json:"name"`            // empty if the configuration names none
	SHA256 string `json:"sha256,omitzero"` // of the file, if it is there
	Bytes  int    `json:"bytes,omitzero"`
	Error  string `json:"error,omitzero"` // why it cannot be used
}

func project(cfg *config.Config) projectReport {
	r := projectReport{Name: cfg.Context.ProjectFile}
	p, err := loop.ReadProject(cfg)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.SHA256, r.Bytes = p.SHA256, p.Bytes
	return r
}

// writePolicy has the stages show what they know, as text.
func writePolicy(ctx context.Context, c *command.Call, cfg *config.Config, stages *sibling.Programs) error {
	if err := writeProject(c, cfg); err != nil {
		return err
	}
	for _, stage := range [][]string{{"claw-gate", "policy"}, {"claw-exec", "sandbox"}} {
		code, err := stages.Show(ctx, stage[0], stage[1:]...)
		if err == nil {
			err = command.Exit(code)
		}
		if err != nil && !unusable(err) {
			return err
		}
	}
	return nil
}

func writeProject(c *command.Call, cfg *config.Config) error {
	if cfg.CheckWorkspace() != nil {
		return nil // claw-gate says why
	}
	r := project(cfg)
	state := fmt.Sprintf("%s, %s, sha256 %s", r.Name, spelling.Count(r.Bytes, "byte"), r.SHA256)
	switch {
	case r.Name == "":
		state = "none"
	case r.Error != "":
		state = r.Error
	case r.SHA256 == "":
		state = "there is no " + r.Name
	}
	_, err := fmt.Fprintf(c.Stdout, "%-19s %s\n", "project file", terminal.Escape(state))
	return err
}

// unusable tells that claw-exec said that no sandbox works here: that is an answer, too.
func unusable(err error) bool {
	var e *envelope.Error
	return errors.As(err, &e) && e.Exit == envelope.ExitSandbox
}
