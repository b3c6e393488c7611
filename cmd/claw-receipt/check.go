package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type checkResult struct {
	Origin  string          `json:"origin"`
	Count   int             `json:"count"`
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Retired string          `json:"retired_at,omitzero"`
}

// WriteText says what is proven, and by which key.
func (r checkResult) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "proven: this is receipt %d of the first %s of the log %s\n", r.Number,
		spelling.Count(r.Count, "receipt"), terminal.Escape(r.Origin))
	writeRetired(w, r.Retired)
	fmt.Fprintln(w)
	writeReceipt(w, r.Number, r.Receipt)
	return nil
}

type consistentResult struct {
	Origin   string `json:"origin"`
	OldCount int64  `json:"old_count"`
	OldRoot  string `json:"old_root"`
	Count    int64  `json:"count"`
	Root     string `json:"root"`
	Retired  string `json:"retired_at,omitzero"`
}

// WriteText says what is proven, and by which key.
func (r consistentResult) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "proven: the log %s, of %s, begins with the %d of the older checkpoint\n", terminal.Escape(r.Origin),
		spelling.Count(r.Count, "receipt"), r.OldCount)
	writeRetired(w, r.Retired)
	_, err := fmt.Fprintf(w, "\nolder root       %s\nnewer root       %s\n", r.OldRoot, r.Root)
	return err
}

func writeRetired(w io.Writer, at string) {
	if at != "" {
		fmt.Fprintf(w, "signed with a key retired on %s; if that key has leaked, the proof may be forged\n",
			terminal.Escape(at))
	}
}

func checkProof() command.Command {
	key, path, kept := "", "", ""
	return command.Command{Name: "check-proof", Offered: []string{"receipt check-proof"}, Args: "FILE --key KEY",
		Min: 1, Max: 1, Summary: "check a proof that a receipt is in a log, or that a log extends a checkpoint",
		Long: `Checks a proof by claw-receipt prove or claw-receipt checkpoint --consistency. It needs the public key of the log and
nothing else: no home, no log. FILE may be - for standard input.

KEY is the key itself, or a file of keys as claw-receipt keys prints them. With --against, the proof must be for the
checkpoint that you saved; for a consistency proof, that is the older of the two.`,
		Example: "claw-receipt check-proof receipt.tlog-proof --key receipt.pub\nclaw-receipt check-proof consistency.txt --key receipt.pub --against checkpoint.txt",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&key, "key", "", "the public `KEY` of the log, or a file with it")
			f.StringVar(&kept, "against", "", "require the proof to be for the checkpoint in `FILE`")
		},
		Access: func(c *command.Call, _ *config.Config) confine.Access {
			if len(c.Args) > 0 {
				path = c.Args[0]
			}
			return files(confine.Access{}, path, key, kept)
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if key == "" {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage",
					"check-proof needs --key KEY: the proof cannot say which key to trust")
			}
			if kept == "" && c.Changed("against") { // a variable of a script that is not set must not ask for less
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--against is empty")
			}
			keys, err := publicKeys(key)
			if err != nil {
				return nil, err
			}
			raw, err := named(c, c.Args[0])
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the proof: %w", err)
			}
			return checked(raw, keys, kept)
		}}
}

// checked is what a proof proves.
func checked(raw []byte, keys []receipt.PublicKey, kept string) (res command.Result, err error) {
	var against []byte
	if kept != "" {
		if against, err = readFile(kept); err != nil {
			return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the checkpoint: %w", err)
		}
	}
	if receipt.IsConsistency(raw) {
		var p *receipt.Consistency
		if p, err = receipt.CheckConsistency(raw, keys); err == nil && kept != "" {
			err = receipt.Kept(against, keys, p.Old)
		}
		if err == nil {
			res = consistentResult{p.Origin, p.Old.N, p.Old.Hash.String(), p.New.N, p.New.Hash.String(), p.RetiredAt}
		}
	} else {
		var p *receipt.Proof
		var n int
		if p, n, err = receipt.CheckProof(raw, keys); err == nil && kept != "" {
			err = receipt.Kept(against, keys, p.Tree)
		}
		if err == nil {
			res = checkResult{Origin: p.Origin, Count: n, Number: p.Number, Receipt: p.Receipt, Retired: p.RetiredAt}
		}
	}
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "proof.wrong", "check the proof: %w", err)
	}
	return res, nil
}
