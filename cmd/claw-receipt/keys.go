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
	return command.Command{Name: "keys", Offered: []string{"receipt keys"},
		Summary: "show the public keys of the receipt log, or manage its keys",
		Long: `Prints the public keys that verify heads, checkpoints and proofs: the current key first, then retired keys with their
retirement date. Give them to anyone who verifies your receipts. The secret keys stay in keys/receipt, which no other
program can read.

--rotate makes a new MAC key and a new signing key. The old signing key is deleted; the old MAC key is kept, to verify
the receipts made with it.

--accept signs a new head for a log that has lost its head. Inspect the log first: its chain and MACs must be good, but
nothing can show whether receipts are missing at its end. If a good head says that N receipts are missing, and they are
lost, add --missing N; earlier calls are not reported as interrupted.

--create refuses to make keys if the gate has allowed calls and there are no receipts, because they must have been
removed. Add --lost to begin a new log nevertheless.`,
		Example: "claw-receipt keys >receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.create, "create", false, "create the keys if there are none, as clawsh init does")
			f.BoolVar(&o.lost, "lost", false, "with --create: the old receipts and keys are lost; begin a new log")
			f.BoolVar(&o.rotate, "rotate", false, "replace the keys with new ones")
			f.BoolVar(&o.accept, "accept", false, "sign a new head for the log as it is")
			f.IntVar(&o.missing, "missing", 0, "with --accept: `N` receipts at the end are known to be lost")
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
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--create, --rotate and --accept cannot be combined")
	case o.missing < 0 || o.missing > 0 && !o.accept:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--missing needs --accept, and must not be negative")
	case o.lost && !o.create:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--lost needs --create")
	case o.create && !initialised(cfg):
		return nil, notInitialised(cfg)
	case o.create && moved(cfg) != nil:
		return nil, moved(cfg)
	case o.create:
		r.Created, err = receipt.CreateKeysAfter(dir, cfg.Receipts.Path,
			receipt.Past{Audit: cfg.AuditPath(), Lost: o.lost})
		if errors.Is(err, receipt.ErrLost) {
			return nil, envelope.Errorf(envelope.ExitError, "receipts.missing", "%w", err).
				WithHint("restore %s, %s and %s together; if they are lost, run: claw-receipt keys --create --lost",
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
	err := envelope.Errorf(envelope.ExitUsage, "usage",
		"--lost is for a log whose keys are lost, too, but the keys are in %s; nothing was changed",
		terminal.Escape(cfg.ReceiptKeysDir()))
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
		return err.WithHint("to keep the damaged log and begin a new one, run: claw-receipt set-aside")
	}
	return err
}

func accept(cfg *config.Config, missing int) error {
	rep, err := receipt.Accept(cfg.Receipts.Path,
		receipt.Options{Keys: cfg.ReceiptKeysDir(), RotateBytes: cfg.Receipts.RotateBytes},
		receipt.Loss{Receipts: missing, Audit: cfg.AuditPath()})
	if errors.Is(err, receipt.ErrTampered) {
		return envelope.Errorf(envelope.ExitError, "receipts.broken", "accept the log: %w", err).
			WithHint("look for them in a copy first; if they are lost, give their number with %s", acceptHint(rep))
	}
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "receipts.unavailable", "%w", err)
	}
	if !rep.Valid {
		return verifyResult{Log: cfg.Receipts.Path, Report: rep}.failure()
	}
	return nil
}
