package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/receiptlog"
)

type acceptResult struct {
	Executor string `json:"executor"`
}

// WriteText says whose seals are accepted.
func (a acceptResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "results sealed by executor %s are attested from now on\n", a.Executor)
	return err
}

func acceptCommand() command.Command {
	return command.Command{Name: "accept", Args: "[FILE]", Max: 1, Envelope: "receipt accept", Access: accepting,
		Summary: "accept the seals of a claw-exec on another host",
		Long: `Reads the output of claw-exec keys on the other host, its public key. Until then, results from that host are recorded
as unattested. To undo this, remove the file of that host from keys/executors.`,
		Example: "ssh build claw-exec keys | claw-receipt accept",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			if err := receiptlog.Of(cfg).Ready(); err != nil {
				return nil, err
			}
			text, err := receiptlog.ReadFile(from(c), c.Stdin)
			if err != nil {
				return nil, fmt.Errorf("read the public key: %w", err)
			}
			id, err := permit.NewExecutors(cfg.ExecutorsDir()).Accept(string(text))
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "accept an executor: %w", err).
					WithHint("ssh HOST claw-exec keys | claw-receipt accept")
			}
			return acceptResult{id}, nil
		}}
}

// accepting is for the command that accepts an executor.
func accepting(c *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	if _, err := os.Lstat(cfg.KeysDir()); err != nil {
		return confine.Access{}
	}
	_ = os.MkdirAll(cfg.ExecutorsDir(), 0o700) // what cannot be made is reported when the key is kept
	return files(confine.Access{Write: []string{cfg.ExecutorsDir()}}, from(c))
}

// from is the file that is read, - for standard input.
func from(c *command.Call) string {
	if len(c.Args) == 0 {
		return "-"
	}
	return c.Args[0]
}
