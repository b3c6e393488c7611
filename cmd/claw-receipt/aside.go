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
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type asideResult struct{ receipt.SetAside }

// WriteText says where the old log is, and what vouches for it.
func (r asideResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w,
		"the damaged log is now %s, its keys are in %s; its SHA-256 is %s\na new log %s begins with receipt %s, which names it\n",
		terminal.Escape(r.Log), terminal.Escape(r.Keys), r.SHA256, terminal.Escape(r.NewOrigin), r.ReceiptID)
	return err
}

// asideOptions are the flags of set-aside.
type asideOptions struct {
	reason string
	yes    bool
}

func setAside() command.Command {
	var o asideOptions
	return command.Command{Name: "set-aside", Offered: []string{"receipt set-aside"},
		Summary: "set a damaged receipt log aside, and begin a new one",
		Long: `Use this if the chain or the MACs of the log are broken and you have no copy to restore. No call runs until then.

The log, its parts, its head and its keys are kept, read-only. A new log with new keys begins. Its first receipt
contains the hash of a note, signed by the old and the new key, with the old log's SHA-256, its number of receipts,
what is wrong with it, and your reason.

You lose the proof that the receipts after the damage are complete and unchanged, and receipts for calls interrupted
until now. The rest stays: verify --log reports the same about the old log as today, and its public key still verifies
older checkpoints and proofs.`,
		Example: "claw-receipt set-aside --reason \"a disk lost a block, and no backup has it\"",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.reason, "reason", "", "the reason, as `TEXT` that is signed with the new log")
			f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			a := making(c, cfg)
			a.Terminal = terminal.Device()
			return a
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) { return o.run(ctx, c) },
	}
}

func (o *asideOptions) run(ctx context.Context, c *command.Call) (command.Result, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	if o.reason == "" || len(o.reason) > 1000 {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "set-aside needs --reason TEXT of at most 1000 bytes")
	}
	if err := missing(cfg); err != nil {
		return nil, err
	}
	rep, rest, err := damaged(cfg)
	if err != nil {
		return nil, err
	}
	if !o.yes && !rest {
		yes, err := terminal.Confirm(ctx,
			fmt.Sprintf("%s is damaged at receipt %d: %s.\nIf you have a copy, restore that instead. Set the log aside, and begin a new one? [y/N] ",
				terminal.Escape(cfg.Receipts.Path), rep.FirstBad, terminal.Escape(rep.Reason)))
		if errors.Is(err, terminal.ErrNoTerminal) {
			return nil, envelope.Errorf(envelope.ExitDenied, "denied",
				"set-aside asks for confirmation on a terminal, and there is none").
				WithHint("use --yes to set the log aside without a question")
		}
		if err != nil {
			return nil, err
		}
		if !yes {
			return nil, envelope.Errorf(envelope.ExitDenied, "denied", "the log was not set aside: you said no")
		}
	}
	done, err := receipt.Replace(cfg.Receipts.Path, receipt.Options{Keys: cfg.ReceiptKeysDir()}, cfg.AuditPath(),
		o.reason)
	if err != nil {
		return nil, notAside(rep, err)
	}
	return asideResult{done}, nil
}

// damaged is what is wrong with the log; an error if it is not to be set aside. rest tells that only what an
// interrupted run left is to be removed.
func damaged(cfg *config.Config) (rep receipt.Report, rest bool, err error) {
	src, err := reading(cfg)
	if err != nil {
		return rep, false, err
	}
	defer src.Close()
	k, err := signing(cfg)
	if err != nil {
		return rep, false, err
	}
	rep, err = receipt.Examine(src, k)
	if errors.Is(err, receipt.ErrSound) && receipt.Unfinished(cfg.Receipts.Path, k) {
		return rep, true, nil
	}
	return rep, false, notAside(rep, err)
}

func notAside(rep receipt.Report, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, receipt.ErrSound):
		return envelope.Errorf(envelope.ExitUsage, "usage", "the log was not set aside: nothing is wrong with it: %s",
			rep.Evidence)
	case errors.Is(err, receipt.ErrAcceptable):
		return envelope.Errorf(envelope.ExitUsage, "usage",
			"the log was not set aside: its chain and MACs are good; %s", rep.Evidence).WithHint("%s", acceptHint(rep))
	}
	return envelope.Errorf(envelope.ExitError, "receipts.unavailable", "set the log aside: %w", err)
}

// acceptHint says how a head is signed for a log of which nothing is wrong but its end.
func acceptHint(rep receipt.Report) string {
	if n := rep.HeadCount - rep.Count; n > 0 {
		return fmt.Sprintf("restore the log from a copy; if what it lacks at its end (%s) is lost: claw-receipt keys --accept --missing %d", spelling.Count(n, "receipt"), n)
	}
	return "if a copy or a checkpoint shows that no receipt is missing, run: claw-receipt keys --accept"
}
