package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

type recoverResult struct{ receipt.Recovery }

// WriteText says what was done.
func (r recoverResult) WriteText(w io.Writer) error {
	for _, x := range r.Written {
		fmt.Fprintf(w, "%s %s: %s\n", x.ID, x.Tool, receipt.Interrupted)
	}
	for _, x := range r.Interrupted {
		fmt.Fprintf(w, "%s: no receipt yet, call %s\n", x.ReceiptID, terminal.Escape(x.CallID))
	}
	if r.Pending > 0 {
		fmt.Fprintf(w, "may still be running: %d, until %s at the latest\n", r.Pending, r.PendingUntil)
	}
	if len(r.Written)+len(r.Interrupted) == 0 && r.Pending == 0 {
		fmt.Fprintln(w, "every allowed call has its receipt")
	}
	return nil
}

func recoverCommand() command.Command {
	dry := false
	return command.Command{Name: "recover", Offered: []string{"receipt recover"}, Access: access,
		Summary: "write receipts for interrupted calls",
		Long: `Writes a failed receipt, "interrupted, outcome unknown", for every call that the gate allowed (audit.jsonl), that has
no receipt and that is over. A call is over once its permit has expired and no stage is running, or after the longest
tool timeout. Calls that may still be running are counted as pending. claw-loop does this when it starts.`,
		Example: "claw-receipt recover\nclaw-receipt recover --dry-run",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&dry, "dry-run", false, "list the calls, and write nothing")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			log, err := openLog(cfg)
			if err != nil {
				return nil, err
			}
			defer log.Close()
			alone, err := durable.Alone(cfg.UnderWayPath())
			if err != nil {
				return nil, fmt.Errorf("find out whether calls are running: %w", err)
			}
			if alone != nil {
				alone.Close() // who starts from now on can run nothing whose permit has expired
			}
			r, err := log.Recover(receipt.RecoverOptions{Audit: cfg.AuditPath(), Quiet: alone != nil, DryRun: dry,
				Patience: patience(cfg), Now: time.Now()})
			if errors.Is(err, receipt.ErrTampered) {
				return nil, envelope.Errorf(envelope.ExitError, "receipts.broken", "recover receipts: %w", err).
					WithHint("run claw-receipt verify")
			}
			if err != nil {
				return nil, err
			}
			return recoverResult{r}, nil
		}}
}

// patience is as long as any tool may take, and a while for its result to come.
func patience(cfg *config.Config) time.Duration {
	l := cfg.Limits
	s := max(l.ToolTimeoutS, l.ShellTimeoutMaxS, l.HTTPTimeoutS, l.ApprovalTimeoutS)
	return time.Duration(s*float64(time.Second)) + time.Minute
}
