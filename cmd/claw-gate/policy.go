package main

import (
	"context"

	"clawsh/lib/command"
	"clawsh/lib/policy"
)

func policyCommand() command.Command {
	return command.Command{Name: "policy", Summary: "show the security policy that is in force", Example: "claw-gate policy",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			p, err := policy.New(cfg, policy.OS{})
			if err != nil {
				return nil, err
			}
			return p.Describe(), nil
		}}
}
