package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// policyCommand shows the policy, which the gate knows, and the sandbox, which claw-exec knows by trying it.
func policyCommand() command.Command {
	return command.Command{Name: "policy", Summary: "show the security policy in force, and which sandboxes work on this machine", Example: "clawsh policy",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if !c.JSON() {
				if err := writeProject(c); err != nil {
					return nil, err
				}
				for _, stage := range [][]string{{"claw-gate", "policy"}, {"claw-exec", "sandbox"}} {
					if err := askStage(ctx, c, c.Stdout, stage...); err != nil && !unusable(err) {
						return nil, err
					}
				}
				return command.Records(), nil
			}
			policy, err := stageData(ctx, c, "claw-gate", "policy")
			if err != nil {
				return nil, err
			}
			preflight, err := stageData(ctx, c, "claw-exec", "sandbox")
			if err != nil {
				return nil, err
			}
			project, err := record.Encode(project(c))
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
	return joined{record.Raw(slices.Concat(body, []byte(`,"project_file":`), r.Project, []byte(`,"preflight":`), r.Preflight, []byte("}")))}, nil
}

// projectReport says which file of the workspace the model is told about the project.
type projectReport struct {
	Name   string `json:"name"`            // empty if the configuration names none
	SHA256 string `json:"sha256,omitzero"` // of the file, if it is there
	Bytes  int    `json:"bytes,omitzero"`
	Error  string `json:"error,omitzero"` // why it cannot be used
}

func project(c *command.Call) projectReport {
	cfg, err := c.Config()
	if err != nil {
		return projectReport{} // the stages say why
	}
	r := projectReport{Name: cfg.Context.ProjectFile}
	p, err := loop.ReadProject(cfg)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.SHA256, r.Bytes = p.SHA256, p.Bytes
	return r
}

func writeProject(c *command.Call) error {
	if cfg, err := c.Config(); err != nil || cfg.CheckWorkspace() != nil {
		return nil // claw-gate says why
	}
	r := project(c)
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

// askStage runs a stage's command with its output to w. A failure has been told by the stage.
func askStage(ctx context.Context, c *command.Call, w io.Writer, argv ...string) error {
	path, err := process.Find(argv[0])
	if err != nil {
		return fmt.Errorf("find %s: %w", argv[0], err)
	}
	args := append([]string{path}, argv[1:]...)
	if c.Global.Config != "" {
		args = append(args, "--config", c.Global.Config)
	}
	if c.Global.Workspace != "" {
		args = append(args, "--workspace", c.Global.Workspace)
	}
	code, err := process.RunTree(ctx, process.TreeSpec{Argv: args, Env: process.Environment(c.Environ, config.PathEnv(c.Config())...), Stdout: w, Stderr: c.Stderr})
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return command.Exit(code)
}

// unusable tells that claw-exec said that no sandbox works here: that is an answer, too.
func unusable(err error) bool {
	var e *envelope.Error
	return errors.As(err, &e) && e.Exit == envelope.ExitSandbox
}

// stageData runs a stage's command and returns the data of its envelope.
func stageData(ctx context.Context, c *command.Call, argv ...string) (record.Raw, error) {
	var out bytes.Buffer
	failed := askStage(ctx, c, &out, append(argv, "--output-format", "json")...)
	answer, err := envelope.Decode(out.Bytes())
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("read the answer of %s: %w", argv[0], err), failed)
	case unusable(failed) && len(answer.Details) > 0:
		return answer.Details, nil
	case answer.Failed != nil:
		return nil, answer.Failed
	}
	return answer.Data, failed
}
