package main

import (
	"context"

	"clawsh/lib/command"
	"clawsh/lib/gate"
)

func policyCommand() command.Command {
	return command.Command{Name: "policy", Access: looking, Summary: "show the security policy in force",
		Example: "claw-gate policy",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			r, err := gate.InForce(cfg)
			if err != nil {
				return nil, err
			}
			return *r, nil
		}}
}
