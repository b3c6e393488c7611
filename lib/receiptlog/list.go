package receiptlog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Listed are receipts, the oldest first.
type Listed struct {
	Receipts   []receipt.Receipt `json:"receipts"`
	Unreadable int               `json:"unreadable"`
}

// WriteText writes a table.
func (l Listed) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(l.Receipts) > 0 {
		fmt.Fprintln(t, "TIME\tID\tSTATUS\tRISK\tTOOL\tCONVERSATION")
	}
	for _, r := range l.Receipts {
		var cells []string // of a line that somebody put into the log, none is to be trusted
		for _, s := range []string{r.Timestamp, r.ID, r.Status, r.Risk, r.Tool, r.ConversationID} {
			cells = append(cells, terminal.Escape(s))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if len(l.Receipts) == 0 && l.Unreadable == 0 {
		fmt.Fprintln(t, "no receipts yet")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(l.Receipts) > 0 {
		fmt.Fprintln(w, "receipts contain only hashes; to see a call, run: clawsh receipt show ID --with-content")
	}
	if l.Unreadable == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s cannot be read as receipts: run claw-receipt verify\n",
		spelling.Count(l.Unreadable, "line"))
	return err
}

// Last are the last n receipts that a filter chooses; 0 is all.
func (l Log) Last(ctx context.Context, f receipt.Filter, n int) (list Listed, err error) {
	src, err := l.open()
	if err != nil {
		return list, err
	}
	defer src.Close()
	if n > 0 {
		list.Receipts, list.Unreadable, err = receipt.ListLast(src, f, n)
	} else {
		list.Receipts = []receipt.Receipt{}
		list.Unreadable, err = receipt.List(src, f, func(_ int, r receipt.Receipt) error {
			list.Receipts = append(list.Receipts, r)
			return ctx.Err()
		})
	}
	if err != nil {
		return list, envelope.Errorf(envelope.ExitError, "receipts.unreadable", "%w", err)
	}
	return list, nil
}

// Each gives use the receipts that a filter chooses as they are read, and counts the lines that are none.
func (l Log) Each(f receipt.Filter, use func(receipt.Receipt) error) (unreadable int, err error) {
	src, err := l.open()
	if err != nil {
		return 0, err
	}
	defer src.Close()
	return receipt.List(src, f, func(_ int, r receipt.Receipt) error { return use(r) })
}
