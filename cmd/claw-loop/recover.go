package main

import (
	"context"
	"os"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
)

// recoverCalls has claw-receipt write the receipts of calls that an earlier loop, which was killed, left without one. It runs
// beside the first turn; the function that it returns waits for it. That it failed is told in the log: the receipts themselves
// are claw-receipt's to complain about.
func recoverCalls(ctx context.Context, c *command.Call) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		cfg, err := c.Config()
		if err != nil {
			return
		}
		if info, err := os.Stat(cfg.AuditPath()); err != nil || info.Size() == 0 {
			return // nothing was ever allowed
		}
		var r struct {
			Written []struct {
				ID string `json:"id"`
			} `json:"written"`
		}
		if err := loop.NewSiblings(cfg, c.Environ, os.Stderr).Query(ctx, &r, "claw-receipt", "recover"); err != nil {
			if ctx.Err() == nil && envelope.From(err).Code != "cancelled" {
				c.Log.Warn("interrupted calls were not looked for", "error", err.Error())
			}
			return
		}
		for _, x := range r.Written {
			c.Event(command.EventReceiptWritten, "receipt_id", x.ID, "status", "failed", "interrupted", true)
		}
	}()
	return func() { <-done }
}
