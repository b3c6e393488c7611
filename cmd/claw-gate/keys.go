package main

import (
	"context"
	"fmt"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/permit"
)

type keysResult struct {
	Directory string `json:"directory"`
	Created   bool   `json:"created"`
}

func (k keysResult) WriteText(w io.Writer) error {
	verb := "exists"
	if k.Created {
		verb = "created"
	}
	_, err := fmt.Fprintf(w, "permit key %s in %s\n", verb, k.Directory)
	return err
}

// keys makes the permit key; clawsh init runs it, since no other program may touch the private key.
func keys() command.Command {
	return command.Command{Name: "keys", Access: making, Hidden: true, Summary: "create the permit key if there is none", Example: "claw-gate keys",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			made, err := permit.Create(cfg.KeysDir())
			return keysResult{cfg.KeysDir(), made}, err
		}}
}
