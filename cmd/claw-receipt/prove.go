package main

import (
	"context"
	"errors"
	"fmt"
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
	return command.Command{Name: "prove", Envelope: "receipt prove", Args: "ID", Min: 1, Max: 1, Summary: "write a proof that a receipt is in the log",
		Long: `Writes a self-contained proof, in the format of c2sp.org/tlog-proof, that one receipt is in the log: the receipt, where it
stands in the Merkle tree, and a checkpoint, a new one unless one is given. claw-receipt check-proof checks it with the
public key alone, and learns nothing of other receipts.`,
		Example: "claw-receipt prove receipt-019df3c2 >receipt.tlog-proof\nclaw-receipt prove receipt-019df3c2 --checkpoint checkpoint.txt >receipt.tlog-proof",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&kept, "checkpoint", "", "prove it under the checkpoint in `FILE`")
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
	src, err := reading(cfg.Receipts.Path)
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
		return nil, envelope.Errorf(envelope.ExitError, "checkpoint.wrong", "prove receipt %s: %w", terminal.Escape(s.Receipt.ID), err)
	}
	if errors.Is(err, receipt.ErrTampered) {
		return nil, envelope.Errorf(envelope.ExitError, "receipts.broken", "prove receipt %s: %w", terminal.Escape(s.Receipt.ID), err)
	}
	if err != nil {
		return nil, err
	}
	return proveResult{Number: p.Number, Receipt: p.Receipt, Proof: string(p.Encode())}, nil
}

type checkResult struct {
	Origin  string          `json:"origin"`
	Count   int             `json:"count"`
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Retired string          `json:"retired_at,omitzero"`
}

// WriteText says what is proven, and by which key.
func (r checkResult) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "proven: it is receipt %d of the first %d of the log %s\n", r.Number, r.Count, terminal.Escape(r.Origin))
	if r.Retired != "" {
		fmt.Fprintf(w, "by a key that was replaced at %s: if it leaked, somebody may have made this proof with it since\n", terminal.Escape(r.Retired))
	}
	fmt.Fprintln(w)
	writeReceipt(w, r.Number, r.Receipt)
	return nil
}

func checkProof() command.Command {
	key, path := "", ""
	return command.Command{Name: "check-proof", Envelope: "receipt check-proof", Args: "FILE --key KEY", Min: 1, Max: 1, Summary: "check a proof that a receipt is in a log",
		Long: `Checks a proof of claw-receipt prove by the public key of the log, with nothing else at hand: no home, no log. KEY is the key
itself or a file of keys, as claw-receipt keys writes them. FILE may be - for standard input.`,
		Example: "claw-receipt check-proof receipt.tlog-proof --key receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&key, "key", "", "the public `KEY` of the log, or a file that holds it")
		},
		Access: func(c *command.Call, _ *config.Config) confine.Access {
			if len(c.Args) > 0 {
				path = c.Args[0]
			}
			return files(confine.Access{}, path, key)
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if key == "" {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "check-proof needs --key KEY: who signed the log must come from elsewhere than the proof")
			}
			keys, err := publicKeys(key)
			if err != nil {
				return nil, err
			}
			raw, err := named(c, c.Args[0])
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the proof: %w", err)
			}
			p, n, err := receipt.CheckProof(raw, keys)
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitError, "proof.wrong", "check the proof: %w", err)
			}
			return checkResult{Origin: p.Origin, Count: n, Number: p.Number, Receipt: p.Receipt, Retired: p.RetiredAt}, nil
		}}
}
