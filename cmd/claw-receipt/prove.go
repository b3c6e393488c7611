package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

type proveResult struct {
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Proof   string          `json:"proof"`
}

// WriteText writes the proof as it is handed on.
func (r proveResult) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, r.Proof)
	return err
}

func prove() command.Command {
	kept := ""
	return command.Command{Name: "prove", Offered: []string{"receipt prove"}, Args: "ID", Min: 1, Max: 1,
		Complete: latest, Summary: "write a proof that a receipt is in the log",
		Long: `Writes a self-contained proof, in the format of c2sp.org/tlog-proof, that a receipt is in the log: the receipt, its
position in the Merkle tree, and a checkpoint. claw-receipt check-proof needs only the public key to check it. The
proof reveals nothing about other receipts.`,
		Example: "claw-receipt prove receipt-019df3c2 >receipt.tlog-proof\nclaw-receipt prove receipt-019df3c2 --checkpoint checkpoint.txt >receipt.tlog-proof",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&kept, "checkpoint", "", "use the checkpoint in `FILE` instead of a new one")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access { return files(indexing(c, cfg), kept) },
		Run:    func(_ context.Context, c *command.Call) (command.Result, error) { return proof(c, kept) },
	}
}

func proof(c *command.Call, kept string) (command.Result, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	s, err := find(c, c.Args[0])
	if err != nil {
		return nil, err
	}
	var against []byte
	if kept != "" {
		if against, err = readFile(kept); err != nil {
			return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the checkpoint: %w", err)
		}
	} else if against, _, _, err = sign(cfg); err != nil {
		return nil, err
	}
	src, err := reading(cfg)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	k, err := signing(cfg)
	if err != nil {
		return nil, err
	}
	trust := receipt.Trust{Keys: k, Public: k.Public, Against: against}
	p, err := receipt.Prove(src, trust, s.Number)
	if errors.Is(err, receipt.ErrCheckpoint) {
		return nil, envelope.Errorf(envelope.ExitError, "checkpoint.wrong", "prove receipt %s: %w",
			terminal.Escape(s.Receipt.ID), err)
	}
	if errors.Is(err, receipt.ErrTampered) {
		return nil, envelope.Errorf(envelope.ExitError, "receipts.broken", "prove receipt %s: %w",
			terminal.Escape(s.Receipt.ID), err)
	}
	if err != nil {
		return nil, err
	}
	return proveResult{Number: p.Number, Receipt: p.Receipt, Proof: string(p.Encode())}, nil
}
