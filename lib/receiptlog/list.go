package receiptlog

import (
	"context"
	"fmt"
	"io"

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
	var t terminal.Table
	if len(l.Receipts) > 0 {
		t.Row("TIME", "ID", "STATUS", "RISK", "TOOL", "CONVERSATION")
	}
	for _, r := range l.Receipts {
		t.Row(r.Timestamp, r.ID, r.Status, r.Risk, r.Tool, r.ConversationID)
	}
	if len(l.Receipts) == 0 && l.Unreadable == 0 {
		t.Row("no receipts yet")
	}
	if err := t.Write(w); err != nil {
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
