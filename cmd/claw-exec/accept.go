package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/executor"
	"clawsh/lib/permit"
)

type acceptResult struct {
	Gate     string   `json:"gate"`
	Policies []string `json:"policies"`
	Executor string   `json:"executor"`
}

// WriteText says what is accepted, and what the gate has to be told.
func (a acceptResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "gate %s is accepted, with %d policy\non its host, run: claw-gate --executor %s\n", a.Gate,
		len(a.Policies), a.Executor)
	return err
}

// maxPublicBytes is more than a gate's key and the hash of its policy have.
const maxPublicBytes = 64 << 10

func accept() command.Command {
	return command.Command{Name: "accept", Args: "[FILE]", Max: 1, Access: accepting,
		Summary: "accept the permits of a gate on another host",
		Long: `Reads the output of claw-gate keys on the other host: the public key of the gate and the hash of its policy. From then
on, calls that this gate permits under that policy run here, unless the policy of this host denies them. When the
policy there changes, accept it again. To undo this, remove the file of that gate from keys/gates.`,
		Example: "ssh desk claw-gate keys | claw-exec accept",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			text, err := public(c)
			if err != nil {
				return nil, fmt.Errorf("read the gate's public key: %w", err)
			}
			s, err := executor.OpenSealer(cfg)
			if err != nil {
				return nil, err
			}
			id, policies, err := permit.AcceptGate(cfg.GatesDir(), string(text))
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "accept a gate: %w", err).
					WithHint("for example: ssh HOST claw-gate keys | claw-exec accept")
			}
			return acceptResult{id, policies, s.ID()}, nil
		}}
}

// accepting is for the command that accepts a gate.
func accepting(c *command.Call, cfg *config.Config) confine.Access {
	a := making(c, cfg)
	if cfg != nil {
		_ = os.MkdirAll(cfg.GatesDir(), 0o700) // what cannot be made is reported when the key is kept
		a.Write = append(a.Write, cfg.GatesDir())
		if path, err := filepath.Abs(strings.Join(c.Args, "")); err == nil && len(c.Args) > 0 {
			a.Read = append(a.Read, path)
		}
	}
	return a
}

// public reads what claw-gate keys has written.
func public(c *command.Call) ([]byte, error) {
	if len(c.Args) == 0 || c.Args[0] == "-" {
		return io.ReadAll(io.LimitReader(c.Stdin, maxPublicBytes))
	}
	f, err := os.Open(c.Args[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPublicBytes))
}
