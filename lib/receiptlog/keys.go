package receiptlog

import (
	"errors"
	"fmt"
	"io"

	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Keys are the public keys of the log.
type Keys struct {
	Directory string              `json:"directory"`
	Origin    string              `json:"origin"`
	Created   bool                `json:"created"`
	Adopted   int                 `json:"adopted"`
	Public    []receipt.PublicKey `json:"public_keys"`
}

// WriteText writes the public keys, the one in use first: as they are given to --key.
func (k Keys) WriteText(w io.Writer) error {
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

// Keys are the keys as they are. created tells whether they were made just now.
func (l Log) Keys(created bool) (r Keys, err error) {
	k, err := l.signing()
	if err != nil {
		return r, err
	}
	return Keys{Directory: l.cfg.ReceiptKeysDir(), Origin: k.Origin, Created: created, Adopted: k.Adopted,
		Public: k.Public}, nil
}

// CreateKeys makes keys where there are none. lost tells that the old receipts and keys are lost.
func (l Log) CreateKeys(lost bool) (r Keys, err error) {
	if err := l.Ready(); err != nil {
		return r, err
	}
	if err := l.Moved(); err != nil {
		return r, err
	}
	dir := l.cfg.ReceiptKeysDir()
	created, err := receipt.CreateKeysAfter(dir, l.path(), receipt.Past{Audit: l.cfg.AuditPath(), Lost: lost})
	if errors.Is(err, receipt.ErrLost) {
		return r, envelope.Errorf(envelope.ExitError, "receipts.missing", "%w", err).
			WithHint("restore %s, %s and %s together; if they are lost, run: claw-receipt keys --create --lost",
				terminal.Escape(l.path()), terminal.Escape(l.cfg.ReceiptsDir()), terminal.Escape(dir))
	}
	if err != nil {
		return r, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "%w", err)
	}
	if lost && !created {
		return r, l.notLost()
	}
	return l.Keys(created)
}

// notLost says what to do where keys are there: none are made anew.
func (l Log) notLost() error {
	return l.with(func(src *receipt.Source, k *receipt.Keys) error {
		err := envelope.Errorf(envelope.ExitUsage, "usage",
			"--lost is for a log whose keys are lost, too, but the keys are in %s; nothing was changed",
			terminal.Escape(l.cfg.ReceiptKeysDir()))
		switch rep, why := receipt.Examine(src, k); {
		case errors.Is(why, receipt.ErrAcceptable):
			return err.WithHint("%s", acceptHint(rep))
		case why == nil:
			return err.WithHint("to keep the damaged log and begin a new one, run: claw-receipt set-aside")
		}
		return err
	})
}

// RotateKeys replaces the keys with new ones.
func (l Log) RotateKeys() (r Keys, err error) {
	if _, err := l.signing(); err != nil {
		return r, err
	}
	if _, err := receipt.RotateKeys(l.cfg.ReceiptKeysDir(), l.path()); err != nil {
		return r, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "%w", err)
	}
	return l.Keys(true)
}

// Accept signs a head for the log as it is, of which so many receipts at the end are known to be lost.
func (l Log) Accept(missing int) (r Keys, err error) {
	if _, err := l.signing(); err != nil {
		return r, err
	}
	rep, err := receipt.Accept(l.path(), l.options(), receipt.Loss{Receipts: missing, Audit: l.cfg.AuditPath()})
	if errors.Is(err, receipt.ErrTampered) {
		return r, envelope.Errorf(envelope.ExitError, "receipts.broken", "accept the log: %w", err).
			WithHint("%s", acceptHint(rep))
	}
	if err != nil {
		return r, envelope.Errorf(envelope.ExitError, "receipts.unavailable", "%w", err)
	}
	if !rep.Valid {
		return r, Verdict{Log: l.path(), Report: rep}.failure()
	}
	return l.Keys(false)
}

// acceptHint says how a head is signed for a log of which nothing is wrong but its end.
func acceptHint(rep receipt.Report) string {
	if n := rep.HeadCount - rep.Count; n > 0 {
		return fmt.Sprintf("restore the log from a copy; if no copy has the %s missing at its end, run: "+
			"claw-receipt keys --accept --missing %d", spelling.Count(n, "receipt"), n)
	}
	return "if a copy or a checkpoint shows that no receipt is missing, run: claw-receipt keys --accept"
}
