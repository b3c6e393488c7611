package receiptlog

import (
	"errors"
	"fmt"
	"io"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// Recovery is what was done about interrupted calls.
type Recovery struct{ receipt.Recovery }

// WriteText says what was done.
func (r Recovery) WriteText(w io.Writer) (err error) {
	for _, x := range r.Written {
		_, err = fmt.Fprintf(w, "%s %s: %s\n", x.ID, x.Tool, receipt.Interrupted)
	}
	for _, x := range r.Interrupted {
		_, err = fmt.Fprintf(w, "%s: no receipt yet, call %s\n", x.ReceiptID, terminal.Escape(x.CallID))
	}
	if r.Pending > 0 {
		_, err = fmt.Fprintf(w, "may still be running: %d, until %s at the latest\n", r.Pending, r.PendingUntil)
	}
	if len(r.Written)+len(r.Interrupted) == 0 && r.Pending == 0 {
		_, err = fmt.Fprintln(w, "every allowed call has its receipt")
	}
	return err
}

// Recover writes receipts for the calls that were interrupted; dry only lists them.
func (l Log) Recover(dry bool) (r Recovery, err error) {
	log, err := l.Writer()
	if err != nil {
		return r, err
	}
	defer log.Close()
	alone, err := durable.Alone(l.cfg.UnderWayPath())
	if err != nil {
		return r, fmt.Errorf("find out whether calls are running: %w", err)
	}
	if alone != nil {
		alone.Close() // who starts from now on can run nothing whose permit has expired
	}
	r.Recovery, err = log.Recover(receipt.RecoverOptions{Audit: l.cfg.AuditPath(), Quiet: alone != nil, DryRun: dry,
		Patience: patience(l.cfg.Limits), Now: time.Now()})
	if errors.Is(err, receipt.ErrTampered) {
		return r, envelope.Errorf(envelope.ExitError, "receipts.broken", "recover receipts: %w", err).
			WithHint("run claw-receipt verify")
	}
	return r, err
}

// patience is as long as any tool may take, and a while for its result to come.
func patience(l config.Limits) time.Duration {
	s := max(l.ToolTimeoutS, l.ShellTimeoutMaxS, l.HTTPTimeoutS, l.ApprovalTimeoutS)
	return time.Duration(s*float64(time.Second)) + time.Minute
}
