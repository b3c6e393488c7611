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
	return command.Command{Name: "keys", Access: making, Summary: "show the public key of the permits, and the hash of the policy",
		Long: `Writes the public key by which permits are checked, and the hash of the policy in force, for claw-exec accept on another
host. The key is made first if there is none; the secret one stays in keys, where only claw-gate may read.`,
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
		return envelope.Errorf(envelope.ExitUsage, "usage", "--executor wants 16 hex digits").WithHint("claw-exec accept, on its host, says which")
	}
	return nil
}
