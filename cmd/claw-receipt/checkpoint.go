package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

type checkpointResult struct {
	Origin     string `json:"origin"`
	Count      int    `json:"count"`
	LastHash   string `json:"last_hash"`
	Checkpoint string `json:"checkpoint"`
	// Consistency is the proof that the log extends an older checkpoint, if that was asked for.
	Consistency string `json:"consistency,omitzero"`
}

// WriteText writes the checkpoint as it is kept.
func (r checkpointResult) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, cmp.Or(r.Consistency, r.Checkpoint))
	return err
}

func checkpoint() command.Command {
	old := ""
	return command.Command{Name: "checkpoint", Offered: []string{"receipt checkpoint"},
		Summary: "write a signed checkpoint of the log, to be kept elsewhere",
		Long: `Writes a signed checkpoint: the number of receipts and the root of a Merkle tree over them, in the format of
c2sp.org/tlog-checkpoint. Only receipts added since the tree was last stored are verified; claw-receipt verify checks all.

Keep the checkpoint where nobody who can write to this home can change it: in git, in a mail, on another host. Then
claw-receipt verify --against shows whether these receipts are all still there, even if the keys were stolen.

With --consistency, writes a proof that the log still begins with the receipts of the checkpoint OLD: both checkpoints,
and the hashes that link them. claw-receipt check-proof needs only the public key to check it, not the log.`,
		Example: "claw-receipt checkpoint >checkpoint.txt\nclaw-receipt verify --against checkpoint.txt\nclaw-receipt checkpoint --consistency checkpoint.txt >consistency.txt",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&old, "consistency", "", "prove that the log extends the checkpoint in the file `OLD`")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access { return files(indexing(c, cfg), old) },
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			signed, k, rep, err := sign(cfg)
			if err != nil {
				return nil, err
			}
			r := checkpointResult{Origin: k.Origin, Count: rep.Count, LastHash: rep.LastHash,
				Checkpoint: string(signed)}
			if c.Changed("consistency") {
				r.Consistency, err = consistency(cfg, k, old, signed)
			}
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// signing are the keys, which there must be.
func signing(cfg *config.Config) (*receipt.Keys, error) {
	k, err := ownKeys(cfg)
	if err == nil && k == nil {
		err = envelope.Errorf(envelope.ExitConfig, "key.unavailable", "there are no receipt keys in %s",
			cfg.ReceiptKeysDir()).WithHint("run: clawsh init")
	}
	return k, err
}

// consistency proves that the log, of which signed is a checkpoint, extends the one in a file.
func consistency(cfg *config.Config, k *receipt.Keys, path string, signed []byte) (string, error) {
	old, err := readFile(path)
	if err != nil {
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "read the checkpoint: %w", err)
	}
	src, err := reading(cfg)
	if err != nil {
		return "", err
	}
	defer src.Close()
	p, err := receipt.ProveConsistency(src,
		receipt.Trust{Keys: k, Public: k.Public, Against: slices.Concat(old, []byte("\n"), signed)})
	if errors.Is(err, receipt.ErrCheckpoint) {
		return "", envelope.Errorf(envelope.ExitError, "checkpoint.wrong", "prove consistency with %s: %w",
			terminal.Escape(path), err)
	}
	if errors.Is(err, receipt.ErrTampered) {
		return "", envelope.Errorf(envelope.ExitError, "receipts.broken", "prove consistency with %s: %w",
			terminal.Escape(path), err).
			WithHint("run claw-receipt verify --against %s", terminal.Escape(path))
	}
	if err != nil {
		return "", err
	}
	return string(p.Encode()), nil
}

// sign makes a checkpoint of the log.
func sign(cfg *config.Config) ([]byte, *receipt.Keys, receipt.Report, error) {
	if err := missing(cfg); err != nil {
		return nil, nil, receipt.Report{}, err
	}
	src, err := reading(cfg) // before the keys: those of a receipt that is there are then there as well
	if err != nil {
		return nil, nil, receipt.Report{}, err
	}
	defer src.Close()
	k, err := signing(cfg)
	if err != nil {
		return nil, nil, receipt.Report{}, err
	}
	signed, rep, err := receipt.Checkpoint(src, k)
	if err == nil && signed == nil {
		err = verifyResult{Log: cfg.Receipts.Path, Report: rep}.failure()
	}
	return signed, k, rep, err
}
