package main

import (
	"context"
	"fmt"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
)

// openSealer loads the key with which results are sealed. A home that is older than seals gets one.
func openSealer(cfg *config.Config) (*permit.Sealer, error) {
	s, _, err := permit.OpenSealer(cfg.SealKeyDir(), cfg.ExecutorsDir())
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the key of seals: %w", err)
	}
	return s, nil
}

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
	return command.Command{Name: "keys", Access: making, Summary: "show the public key of the seals on results",
		Long: `Writes the public key by which the seals of this home's results are checked, and makes the key first if there is none. The
secret one stays in keys/exec, where only claw-exec may read.`,
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
