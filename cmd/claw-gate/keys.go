package main

import (
	"context"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/policy"
)

type keysResult struct {
	Directory string `json:"directory"`
	Created   bool   `json:"created"`
	Public    string `json:"public_key"`
}

// WriteText writes the public key and the hash of the policy, as claw-exec accept takes them.
func (k keysResult) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, k.Public)
	return err
}

// keys makes the permit key; clawsh init runs it, since no other program may touch the private key.
func keys() command.Command {
	return command.Command{Name: "keys", Access: making,
		Summary: "show the public key for permits and the hash of the policy",
		Long: `Prints the public key that verifies permits, and the hash of the policy in force, for claw-exec accept on another host.
Creates the key pair first if there is none. The secret key stays in keys, where only claw-gate can read it.`,
		Example: "claw-gate keys\nssh desk claw-gate keys | claw-exec accept",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			r := keysResult{Directory: cfg.KeysDir()}
			if r.Created, err = permit.Create(cfg.KeysDir()); err != nil {
				return nil, err
			}
			s, err := permit.LoadSigner(cfg.KeysDir())
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "%w", err)
			}
			hash := ""
			if p, err := policy.New(cfg, policy.OS{}); err == nil { // without a workspace there is no policy yet
				hash = p.Hash()
			}
			r.Public = s.PublicText(hash)
			return r, nil
		}}
}

// checkExecutor refuses what is not the name of a claw-exec.
func checkExecutor(id string) error {
	if id != "" && !permit.IsID(id) {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--executor: want 16 hex digits").
			WithHint("claw-exec accept, on the other host, prints them")
	}
	return nil
}
