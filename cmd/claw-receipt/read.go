package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// reading opens the receipt log for reading. A log that is not there yet has no receipts.
func reading(c *command.Call, use func(path string, r io.Reader) error) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	f, err := os.Open(cfg.Receipts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return use(cfg.Receipts.Path, strings.NewReader(""))
	}
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "receipts.unreadable", "read the receipts: %w", err)
	}
	defer f.Close()
	return use(cfg.Receipts.Path, f)
}

// missing refuses to call a log intact that is gone: where the gate has decided about calls, there must be receipts.
func missing(c *command.Call) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	_, err = os.Stat(cfg.Receipts.Path)
	audit, auditErr := os.Stat(cfg.AuditPath())
	if errors.Is(err, fs.ErrNotExist) && auditErr == nil && audit.Size() > 0 {
		return envelope.Errorf(envelope.ExitError, "receipts.missing", "there is no receipt log %s, but the gate has decided about calls", cfg.Receipts.Path).
			WithHint("compare with %s", cfg.AuditPath())
	}
	return nil
}

type verifyResult struct {
	Log string `json:"log"`
	receipt.Report
}

func (v verifyResult) WriteText(w io.Writer) error {
	if !v.Valid {
		return nil // the error says it all
	}
	_, err := fmt.Fprintf(w, "%s, last hash %s: %s\n", count(v.Count), v.LastHash, v.Evidence)
	return err
}

func count(n int) string {
	if n == 1 {
		return "1 receipt"
	}
	return fmt.Sprintf("%d receipts", n)
}

func verify() command.Command {
	return command.Command{Name: "verify", Access: looking, Envelope: "receipt verify", Summary: "replay the chain and report the first broken link",
		Example: "claw-receipt verify",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			var v verifyResult
			if err := missing(c); err != nil {
				return nil, err
			}
			err := reading(c, func(path string, r io.Reader) (err error) {
				v.Log = path
				v.Report, err = receipt.Verify(r)
				return err
			})
			if err != nil {
				return nil, err
			}
			if !v.Valid {
				return v, envelope.Errorf(envelope.ExitError, "receipts.broken", "invalid chain at receipt %d: %s; %s", v.FirstBad, v.Reason, v.Evidence).
					WithHint("compare %s with a copy, from line %d on", v.Log, v.FirstBad+v.Torn)
			}
			return v, nil
		}}
}

type listResult struct {
	Receipts   []receipt.Receipt `json:"receipts"`
	Unreadable int               `json:"unreadable"`
}

func (l listResult) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range l.Receipts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.Timestamp, terminal.Escape(r.ID), r.Status, r.Risk, terminal.Escape(r.Tool))
	}
	if len(l.Receipts) == 0 && l.Unreadable == 0 {
		fmt.Fprintln(t, "no receipts yet")
	}
	if l.Unreadable > 0 {
		fmt.Fprintf(t, "%d lines are no receipts: run claw-receipt verify\n", l.Unreadable)
	}
	return t.Flush()
}

func list() command.Command {
	var f receipt.Filter
	return command.Command{Name: "list", Access: looking, Envelope: "receipt list", Summary: "list receipts, the latest last", Example: "claw-receipt list --status denied",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&f.Limit, "limit", 50, "show the last `N` (0: all)")
			fs.StringVar(&f.Tool, "tool", "", "only of the tool `NAME`")
			fs.StringVar(&f.Status, "status", "", "only with the `STATUS` allowed, denied or failed")
			fs.StringVar(&f.Conversation, "conversation", "", "only of the conversation `ID`, or its beginning")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			var l listResult
			err := reading(c, func(_ string, r io.Reader) (err error) {
				l.Receipts, l.Unreadable, err = receipt.List(r, f)
				return err
			})
			if err != nil {
				return nil, err
			}
			return l, nil
		}}
}

type showResult struct {
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
}

func (s showResult) WriteText(w io.Writer) error {
	r := s.Receipt
	for _, f := range [][2]string{{"number", fmt.Sprint(s.Number)}, {"id", r.ID}, {"timestamp", r.Timestamp}, {"conversation_id", r.ConversationID},
		{"tool", r.Tool}, {"status", r.Status}, {"risk", r.Risk}, {"args_hash", r.ArgsHash}, {"result_hash", r.ResultHash},
		{"previous_hash", r.PreviousHash}, {"receipt_hash", r.ReceiptHash}} {
		fmt.Fprintf(w, "%-16s %s\n", f[0], terminal.Escape(f[1]))
	}
	return nil
}

func show() command.Command {
	return command.Command{Name: "show", Access: looking, Envelope: "receipt show", Args: "ID", Min: 1, Max: 1, Summary: "show one receipt",
		Long: "The beginning of the id is enough, if no other starts like it.", Example: "claw-receipt show receipt-019df3c2",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			var s showResult
			err := reading(c, func(_ string, r io.Reader) (err error) {
				s.Receipt, s.Number, err = receipt.Find(r, c.Args[0])
				return err
			})
			if errors.Is(err, receipt.ErrNotFound) {
				return nil, envelope.Errorf(envelope.ExitError, "not_found", "receipt %q: %w", terminal.Escape(c.Args[0]), err).WithHint("see: claw-receipt list")
			}
			if err != nil {
				return nil, err
			}
			return s, nil
		}}
}
