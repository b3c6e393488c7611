package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/sibling"
)

// recoverCalls has claw-receipt write the receipts of calls that an earlier loop, which was killed, left without one.
// It runs beside the first turn; the function that it returns waits for it. That it failed is told in the log: the
// receipts themselves are claw-receipt's to complain about.
func recoverCalls(ctx context.Context, c *command.Call) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := writeInterrupted(ctx, c)
		if err != nil && ctx.Err() == nil && !toldElsewhere(envelope.From(err).Code) {
			var lost missingReceipt
			if errors.As(err, &lost) {
				c.Log.Warn(lost.Error())
				return
			}
			c.Log.Warn("could not look for interrupted calls (run: clawsh doctor)", "error",
				err.Error())
		}
	}()
	return func() { <-done }
}

// toldElsewhere tells whether a turn says the same: that it was cancelled, or that the configuration was broken
// meanwhile.
func toldElsewhere(code string) bool {
	return code == "cancelled" || strings.HasPrefix(code, "config.")
}

// writeInterrupted asks which calls have no receipt and, if there are any, the memory whether it has their results:
// claw-receipt, which may not read it, would say that their outcome is unknown. A result that was remembered had a
// receipt, so the log has lost some.
func writeInterrupted(ctx context.Context, c *command.Call) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	if info, err := os.Stat(cfg.AuditPath()); err != nil || info.Size() == 0 {
		return nil // nothing was ever allowed
	}
	if receipt.Settled(cfg.Receipts.Path, cfg.ReceiptKeysDir(), cfg.AuditPath()) {
		return nil // nothing was allowed since all had their receipts
	}
	s := sibling.New(cfg, c.Environ, os.Stderr)
	var found struct {
		Interrupted []interruption `json:"interrupted"`
	}
	if err := s.Query(ctx, &found, "claw-receipt", "recover", "--dry-run"); err != nil || len(found.Interrupted) == 0 {
		return err
	}
	for _, x := range found.Interrupted {
		if known, err := x.remembered(ctx, s); err != nil {
			return err
		} else if known {
			return missingReceipt{x}
		}
	}
	var r struct {
		Written []struct {
			ID string `json:"id"`
		} `json:"written"`
	}
	if err := s.Query(ctx, &r, "claw-receipt", "recover"); err != nil {
		return err
	}
	for _, x := range r.Written {
		c.Event(command.EventReceiptWritten, "receipt_id", x.ID, "status", "failed", "interrupted", true)
	}
	return nil
}

// interruption is a call that was released, is over, and has no receipt.
type interruption struct {
	ReceiptID string `json:"receipt_id"`
	CallID    string `json:"call_id"`
}

// missingReceipt is of a call whose result the memory has.
type missingReceipt struct{ interruption }

// Error implements error.
func (m missingReceipt) Error() string {
	return fmt.Sprintf("%s is missing from the receipt log, but the memory has the result of its call %s; restore the receipts from a backup (run: clawsh doctor)", m.ReceiptID, m.CallID)
}

// remembered tells whether the memory has the call's result, with that receipt.
func (x interruption) remembered(ctx context.Context, s *sibling.Programs) (bool, error) {
	if x.CallID == "" {
		return false, nil
	}
	var shown struct {
		Entries []struct {
			ReceiptID string `json:"receipt_id"`
		} `json:"entries"`
	}
	err := s.Query(ctx, &shown, "claw-mem", "show", "--", x.CallID)
	if e := envelope.From(err); e != nil && e.Code == "not_found" {
		return false, nil
	}
	for _, e := range shown.Entries {
		if e.ReceiptID == x.ReceiptID {
			return true, nil
		}
	}
	return false, err
}
