package main

import (
	"context"
	"fmt"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/policy"
	"clawsh/lib/terminal"
)

// policyResult is the policy, and whether the emergency stop overrides it.
type policyResult struct {
	policy.Description
	Estop       bool   `json:"estop"`
	EstopReason string `json:"estop_reason,omitzero"`
}

func (r policyResult) WriteText(w io.Writer) error {
	state := "off"
	if r.Estop {
		state = "on, no tool runs: " + r.EstopReason
	}
	if _, err := fmt.Fprintf(w, "%-19s %s\n", "emergency stop", terminal.Escape(state)); err != nil {
		return err
	}
	return r.Description.WriteText(w)
}

func policyCommand() command.Command {
	return command.Command{Name: "policy", Access: looking, Summary: "show the security policy that is in force", Example: "claw-gate policy",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			p, err := policy.New(cfg, policy.OS{})
			if err != nil {
				return nil, err
			}
			r := policyResult{Description: p.Describe()}
			r.Estop, r.EstopReason = config.Estop(cfg.Home)
			return r, nil
		}}
}
