package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

type keysResult struct {
	Directory string              `json:"directory"`
	Origin    string              `json:"origin"`
	Created   bool                `json:"created"`
	Adopted   int                 `json:"adopted"`
	Public    []receipt.PublicKey `json:"public_keys"`
}

// WriteText writes the public keys, the one in use first: as they are given to --key.
func (k keysResult) WriteText(w io.Writer) error {
	var err error
	for _, p := range k.Public {
		line := p.Key
		if p.RetiredAt != "" {
			line += " " + p.RetiredAt
		}
		_, err = fmt.Fprintln(w, terminal.Escape(line))
	}
	return err
}

// keyOptions are the flags of keys.
type keyOptions struct {
	create, lost, rotate, accept bool
	missing                      int
}

func keys() command.Command {
	var o keyOptions
	return command.Command{Name: "keys", Envelope: "receipt keys", Summary: "show the public keys of the receipts, or replace the keys",
		Long: `Writes the public keys by which heads, checkpoints and proofs are checked, the one in use first and, behind those that it
replaced, when it did. Give them to whoever checks; the secret ones stay in keys/receipt, where no other program may read.

--rotate makes new keys, for macs and for signatures. The old signing key is gone; the old key of macs stays, to
verify the receipts that bear them. --accept signs a head for a log that has lost it, after you have looked at the log: its
chain and macs must be good, but nobody can tell whether receipts are missing at its end. Where a good head says how many
are missing, and they are lost, --missing says so too; calls up to then are not taken for interrupted.
--create makes no keys where the gate has released calls and there are no receipts: they were removed. --lost begins anew all the same.`,
		Example: "claw-receipt keys >receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.create, "create", false, "make the keys, if there are none; clawsh init does")
			f.BoolVar(&o.lost, "lost", false, "with --create: receipts and keys that were there are lost, begin anew")
			f.BoolVar(&o.rotate, "rotate", false, "replace the keys by new ones")
			f.BoolVar(&o.accept, "accept", false, "sign a new head for the log as it is")
			f.IntVar(&o.missing, "missing", 0, "with --accept: `N` receipts are known to be lost")
		},
		Access: making,
		Run:    func(_ context.Context, c *command.Call) (command.Result, error) { return o.run(c) },
	}
}

func (o *keyOptions) run(c *command.Call) (command.Result, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	dir := cfg.ReceiptKeysDir()
	r := keysResult{Directory: dir}
	if o.rotate || o.accept {
		if _, err := signing(cfg); err != nil {
			return nil, err
		}
	}
	switch {
	case o.create && o.rotate || o.rotate && o.accept || o.create && o.accept:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--create, --rotate and --accept exclude each other")
	case o.missing < 0 || o.missing > 0 && !o.accept:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--missing goes with --accept, and is not negative")
	case o.lost && !o.create:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--lost goes with --create")
	case o.create && !initialised(cfg):
		return nil, notInitialised(cfg)
	case o.create && moved(cfg) != nil:
		return nil, moved(cfg)
	case o.create:
		r.Created, err = receipt.CreateKeysAfter(dir, cfg.Receipts.Path, receipt.Past{Audit: cfg.AuditPath(), Lost: o.lost})
		if errors.Is(err, receipt.ErrLost) {
			return nil, envelope.Errorf(envelope.ExitError, "receipts.missing", "%w", err).
				WithHint("restore %s, %s and %s together; if they are lost: claw-receipt keys --create --lost",
					terminal.Escape(cfg.Receipts.Path), terminal.Escape(cfg.ReceiptsDir()), terminal.Escape(dir))
		}
		if err != nil {
			return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "%w", err)
		}
		if o.lost && !r.Created {
			return nil, notLost(cfg)
		}
	case o.rotate:
		if _, err := receipt.RotateKeys(dir, cfg.Receipts.Path); err != nil {
			return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "%w", err)
		}
		r.Created = true
	case o.accept:
		if err := accept(cfg, o.missing); err != nil {
			return nil, err
		}
	}
	k, err := signing(cfg)
	if err != nil {
		return nil, err
	}
	r.Origin, r.Public, r.Adopted = k.Origin, k.Public, k.Adopted
	return r, nil
}

// notLost says what to do where keys are there: none are made anew.
func notLost(cfg *config.Config) error {
	err := envelope.Errorf(envelope.ExitUsage, "usage", "--lost begins a log anew where its keys are lost, too; %s has the keys: nothing was changed", terminal.Escape(cfg.ReceiptKeysDir()))
	src, openErr := reading(cfg)
	if openErr != nil {
		return openErr
	}
	defer src.Close()
	k, keyErr := signing(cfg)
	if keyErr != nil {
		return keyErr
	}
	switch rep, why := receipt.Examine(src, k); {
	case errors.Is(why, receipt.ErrAcceptable):
		return err.WithHint("%s", acceptHint(rep))
	case why == nil:
		return err.WithHint("claw-receipt set-aside keeps a damaged log, and begins a new one")
	}
	return err
}

func accept(cfg *config.Config, missing int) error {
	rep, err := receipt.Accept(cfg.Receipts.Path, receipt.Options{Keys: cfg.ReceiptKeysDir(), RotateBytes: cfg.Receipts.RotateBytes},
		receipt.Loss{Receipts: missing, Audit: cfg.AuditPath()})
	if errors.Is(err, receipt.ErrTampered) {
		return envelope.Errorf(envelope.ExitError, "receipts.broken", "accept the log: %w", err).
			WithHint("look for them in a copy first; if they are lost, give their number: %s", acceptHint(rep))
	}
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "receipts.unavailable", "%w", err)
	}
	if !rep.Valid {
		return verifyResult{Log: cfg.Receipts.Path, Report: rep}.failure()
	}
	return nil
}
