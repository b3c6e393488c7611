package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// listOptions are the flags of list.
type listOptions struct {
	receipt.Filter
	limit        int
	table, jsonl bool
}

func list() command.Command {
	var o listOptions
	return command.Command{Name: "list", Offered: []string{"receipt list"}, Access: looking,
		Summary: "list receipts, newest last",
		Long: `On a terminal, prints a table of the last 50 receipts; in a pipe, all receipts as JSON lines, exactly as in the log.
TIME is RFC 3339, a date, or how long ago, such as 7d. --until TIME excludes TIME; --until DATE includes that day.`,
		Example: "claw-receipt list --status denied --since 24h\nclaw-receipt list | jq -r .tool | sort | uniq -c",
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&o.limit, "limit", 0,
				"show the last `N` (0: all; default 50 in a table and in --output-format json)")
			f.StringVar(&o.Tool, "tool", "", "show only receipts of the tool `NAME`")
			f.StringVar(&o.Status, "status", "", "show only receipts with `STATUS` allowed, denied or failed")
			f.StringVar(&o.Risk, "risk", "", "show only receipts with `RISK` low, medium or high")
			f.StringVar(&o.Since, "since", "", "show only receipts from `TIME` on")
			f.StringVar(&o.Until, "until", "", "show only receipts before `TIME`")
			f.StringVar(&o.Conversation, "conversation", "",
				"show only receipts of the conversation `ID` (a unique prefix is enough)")
			f.BoolVar(&o.table, "table", false, "print a table even in a pipe")
			f.BoolVar(&o.jsonl, "jsonl", false, "print JSON lines even on a terminal")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) { return o.run(ctx, c) },
	}
}

func (o *listOptions) check(c *command.Call) error {
	for _, f := range []struct {
		name, value string
		want        []string
	}{{"status", o.Status, []string{record.StatusAllowed, record.StatusDenied, record.StatusFailed}},
		{"risk", o.Risk, []string{record.RiskLow, record.RiskMedium, record.RiskHigh}}} {
		if f.value != "" && !slices.Contains(f.want, f.value) {
			return envelope.Errorf(envelope.ExitUsage, "usage", "--%s %s: want %s, %s or %s", f.name,
				terminal.Escape(f.value), f.want[0], f.want[1], f.want[2])
		}
	}
	if o.limit < 0 {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--limit must not be negative")
	}
	if o.table && o.jsonl {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--table and --jsonl cannot be combined")
	}
	var err error
	if o.Since, o.Until, err = record.Span(o.Since, o.Until, time.Now()); err != nil {
		return envelope.Errorf(envelope.ExitUsage, "usage", "%w", err)
	}
	return nil
}

func (o *listOptions) run(ctx context.Context, c *command.Call) (command.Result, error) {
	if err := o.check(c); err != nil {
		return nil, err
	}
	l, err := open(c)
	if err != nil {
		return nil, err
	}
	lines := o.jsonl || !o.table && !c.JSON() && !terminal.IsTerminal(os.Stdout)
	w := bufio.NewWriter(c.Stdout)
	if lines && !c.Changed("limit") {
		unreadable, err := l.Each(o.Filter, func(r receipt.Receipt) error {
			return errors.Join(writeLine(w, r), ctx.Err())
		})
		return done(c, w, unreadable, err)
	}
	if !c.Changed("limit") {
		o.limit = 50
	}
	last, err := l.Last(ctx, o.Filter, o.limit)
	if err != nil || !lines || c.JSON() {
		return only(last, err)
	}
	for _, r := range last.Receipts {
		if err := writeLine(w, r); err != nil {
			return nil, err
		}
	}
	return done(c, w, last.Unreadable, nil)
}

func writeLine(w *bufio.Writer, r receipt.Receipt) error {
	line, err := record.Encode(r)
	if err != nil {
		return err
	}
	w.Write(line)
	return w.WriteByte('\n')
}

// done ends the output. Whoever reads it may have had enough.
func done(c *command.Call, w *bufio.Writer, unreadable int, err error) (command.Result, error) {
	if err == nil {
		err = w.Flush()
	}
	if errors.Is(err, syscall.EPIPE) {
		return command.Records(), nil
	}
	if err == nil && unreadable > 0 {
		err = envelope.Errorf(envelope.ExitError, "receipts.unreadable", "%s cannot be read as receipts",
			spelling.Count(unreadable, "line")).WithHint("run claw-receipt verify")
	}
	return command.Records(), err
}

// offered is how many receipts the shell's completion offers.
const offered = 200

// latest are the values of an argument that names a receipt, the newest first.
func latest(ctx context.Context, c *command.Call) (list []command.Value) {
	l, err := open(c)
	if err != nil {
		return nil
	}
	last, err := l.Last(ctx, receipt.Filter{}, offered)
	if err != nil {
		return nil
	}
	for _, r := range slices.Backward(last.Receipts) {
		list = append(list, command.Value{Name: r.ID, Description: r.Timestamp + " " + r.Tool + " " + r.Status})
	}
	return list
}
