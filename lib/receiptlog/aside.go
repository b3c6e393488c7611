package receiptlog

import (
	"context"
	"errors"
	"fmt"
	"io"

	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// Aside is a log that was set aside.
type Aside struct{ receipt.SetAside }

// WriteText says where the old log is, and what vouches for it.
func (r Aside) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w,
		"the damaged log is now %s, its keys are in %s; its SHA-256 is %s\na new log %s begins with receipt %s, which names it\n",
		terminal.Escape(r.Log), terminal.Escape(r.Keys), r.SHA256, terminal.Escape(r.NewOrigin), r.ReceiptID)
	return err
}

// SetAside sets a damaged log aside and begins a new one, if ask agrees; nil is not asked.
func (l Log) SetAside(ctx context.Context, reason string,
	ask func(ctx context.Context, question string) (bool, error)) (r Aside, err error) {
	if reason == "" || len(reason) > 1000 {
		return r, envelope.Errorf(envelope.ExitUsage, "usage", "set-aside needs --reason TEXT of at most 1000 bytes")
	}
	if err := l.present(); err != nil {
		return r, err
	}
	rep, rest, err := l.damaged()
	if err == nil && ask != nil && !rest {
		err = l.agreed(ctx, rep, ask)
	}
	if err != nil {
		return r, err
	}
	r.SetAside, err = receipt.Replace(l.path(), l.options(), l.cfg.AuditPath(), reason)
	return r, notAside(rep, err)
}

// agreed asks whether the log is to be set aside.
func (l Log) agreed(ctx context.Context, rep receipt.Report,
	ask func(ctx context.Context, question string) (bool, error)) error {
	yes, err := ask(ctx,
		fmt.Sprintf("%s is damaged at receipt %d: %s.\nIf you have a copy, restore that instead. Set the log aside, and begin a new one? [y/N] ",
			terminal.Escape(l.path()), rep.FirstBad, terminal.Escape(rep.Reason)))
	if errors.Is(err, terminal.ErrNoTerminal) {
		return envelope.Errorf(envelope.ExitDenied, "denied",
			"set-aside asks for confirmation on a terminal, and there is none").
			WithHint("use --yes to set the log aside without a question")
	}
	if err == nil && !yes {
		return envelope.Errorf(envelope.ExitDenied, "denied", "the log was not set aside: you said no")
	}
	return err
}

// damaged is what is wrong with the log; an error if it is not to be set aside. rest tells that only what an
// interrupted run left is to be removed.
func (l Log) damaged() (rep receipt.Report, rest bool, err error) {
	err = l.with(func(src *receipt.Source, k *receipt.Keys) (err error) {
		rep, err = receipt.Examine(src, k)
		if errors.Is(err, receipt.ErrSound) && receipt.Unfinished(l.path(), k) {
			rest = true
			return nil
		}
		return notAside(rep, err)
	})
	return rep, rest, err
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
