package main

import (
	"context"
	"fmt"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
)

type keysResult struct {
	Directory string `json:"directory"`
	Created   bool   `json:"created"`
	Executor  string `json:"executor"`
	Public    string `json:"public_key"`
}

// WriteText writes the public key, as claw-receipt accept takes it.
func (k keysResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\nexecutor %s\n", k.Public, k.Executor)
	return err
}

func keys() command.Command {
	return command.Command{Name: "keys", Access: making, Summary: "show the public key for seals on results",
		Long: `Prints the public key that verifies the seals on results of this home, and creates the key pair first if there is none.
The secret key stays in keys/exec, which only claw-exec can read.`,
		Example: "claw-exec keys\nssh build claw-exec keys | claw-receipt accept",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			s, made, err := permit.OpenSealer(cfg.SealKeyDir(), cfg.ExecutorsDir())
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "%w", err)
			}
			return keysResult{cfg.SealKeyDir(), made, s.ID(), s.Public()}, nil
		}}
}
