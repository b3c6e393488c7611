package main

import (
	"context"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
)

type checkpointResult struct {
	Origin     string `json:"origin"`
	Count      int    `json:"count"`
	LastHash   string `json:"last_hash"`
	Checkpoint string `json:"checkpoint"`
}

// WriteText writes the checkpoint as it is kept.
func (r checkpointResult) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, r.Checkpoint)
	return err
}

func checkpoint() command.Command {
	return command.Command{Name: "checkpoint", Access: indexing, Envelope: "receipt checkpoint", Summary: "sign what the log holds now, to be kept elsewhere",
		Long: `Writes a signed checkpoint of the log: how many receipts, and the root of a Merkle tree over them, in the text format of
c2sp.org/tlog-checkpoint. It verifies the receipts that came since the tree was stored; verify looks at all of them. Keep it where nobody who can write to this home can reach it: in git, in a mail, on
another host. Then claw-receipt verify --against shows whether these receipts are still there, whoever has the keys.`,
		Example: "claw-receipt checkpoint >checkpoint.txt\nclaw-receipt verify --against checkpoint.txt",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			signed, k, rep, err := sign(cfg)
			if err != nil {
				return nil, err
			}
			return checkpointResult{Origin: k.Origin, Count: rep.Count, LastHash: rep.LastHash, Checkpoint: string(signed)}, nil
		}}
}

// signing are the keys, which there must be.
func signing(cfg *config.Config) (*receipt.Keys, error) {
	k, err := ownKeys(cfg)
	if err == nil && k == nil {
		err = envelope.Errorf(envelope.ExitConfig, "key.unavailable", "there are no receipt keys in %s", cfg.ReceiptKeysDir()).WithHint("run: clawsh init")
	}
	return k, err
}

// sign makes a checkpoint of the log.
func sign(cfg *config.Config) ([]byte, *receipt.Keys, receipt.Report, error) {
	if err := missing(cfg); err != nil {
		return nil, nil, receipt.Report{}, err
	}
	src, err := reading(cfg.Receipts.Path) // before the keys: those of a receipt that is there are then there as well
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
