package receiptlog

import (
	"errors"
	"fmt"
	"io"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// Shown is one receipt, with its number in the log.
type Shown struct {
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Content *Content        `json:"content,omitzero"`

	proven bool // it is among those that the tiles of the log hold, or behind them
}

// Content is what a receipt was written for, and whether it is.
type Content struct {
	Args        record.Raw `json:"args"`
	Success     bool       `json:"success"`
	Output      string     `json:"output"`
	Error       string     `json:"error,omitzero"`
	ArgsMatch   bool       `json:"args_match"`
	ResultMatch bool       `json:"result_match"`
}

// WriteText writes the fields of the receipt, and the content behind them.
func (s Shown) WriteText(w io.Writer) error {
	err := writeReceipt(w, s.Number, s.Receipt)
	if s.Content == nil {
		return err
	}
	says := func(matches string, match bool) string {
		if match {
			return matches + " the receipt"
		}
		return "does NOT match the receipt"
	}
	fmt.Fprintf(w, "\narguments (%s):\n%s\n", says("match", s.Content.ArgsMatch),
		terminal.Sanitize(string(s.Content.Args)))
	fmt.Fprintf(w, "\nresult (%s): %s\n", says("matches", s.Content.ResultMatch), s.Content.became(s.Receipt))
	for _, text := range []string{s.Content.Output, s.Content.Error} {
		if text != "" {
			_, err = fmt.Fprintln(w, terminal.Sanitize(text))
		}
	}
	return err
}

// became says in a word what became of the call.
func (c *Content) became(r receipt.Receipt) string {
	switch {
	case c.Success:
		return "succeeded"
	case c.ResultMatch && r.Status == record.StatusDenied:
		return "denied"
	}
	return "failed"
}

func writeReceipt(w io.Writer, number int, r receipt.Receipt) (err error) {
	for _, f := range [][2]string{{"number", fmt.Sprint(number)}, {"id", r.ID}, {"timestamp", r.Timestamp},
		{"conversation_id", r.ConversationID},
		{"tool", r.Tool}, {"status", r.Status}, {"risk", r.Risk}, {"args_hash", r.ArgsHash},
		{"result_hash", r.ResultHash}, {"attestation", r.Attestation},
		{"previous_hash", r.PreviousHash}, {"receipt_hash", r.ReceiptHash}, {"mac", r.MAC}} {
		if f[1] != "" {
			_, err = fmt.Fprintf(w, "%-16s %s\n", f[0], terminal.Escape(f[1]))
		}
	}
	return err
}

// Show is the receipt with this id, or the only one whose id begins so. Given records, it finds the call's among them,
// and compares it. A receipt that is not as written, or not of its record, is an error, with the receipt; other errors
// have none.
func (l Log) Show(id string, records io.Reader) (*Shown, error) {
	s, err := l.find(id)
	if err != nil {
		return nil, err
	}
	if err := l.genuine(s); err != nil || records == nil {
		return s, err
	}
	if s.Content, err = contentOf(records, s.Receipt); err != nil {
		return nil, err
	}
	if !s.Content.ArgsMatch || !s.Content.ResultMatch {
		return s, envelope.Errorf(envelope.ExitError, "receipt.mismatch", "the content does not match receipt %s",
			terminal.Escape(s.Receipt.ID)).
			WithHint("the record was changed, or a secret was withheld when it was stored (look for a note such as [withheld: …])")
	}
	return s, nil
}

// genuine refuses to show as a receipt what somebody without the key put into the log, or changed there. For one that
// the key in use did not seal, the whole log has to speak: it is older than all keys, or its key was replaced, and may
// have leaked. Of one that is proven by tiles, the key in use has signed that the log has spoken.
func (l Log) genuine(s *Shown) error {
	k, err := l.keys()
	if err != nil {
		return err
	}
	if err := s.Receipt.Check(s.Number, k); err != nil {
		return envelope.Errorf(envelope.ExitError, "receipts.broken", "receipt %d, %s, is not as written: %w", s.Number,
			terminal.Escape(s.Receipt.ID), err).
			WithHint("run claw-receipt verify")
	}
	if k == nil || s.proven || k.Seals(s.Number) {
		return nil
	}
	v, err := Question{Config: func() (*config.Config, error) { return l.cfg, nil }}.verify(l.path())
	if err == nil && !v.Valid {
		err = v.failure()
	}
	return err
}

// find looks up a receipt.
func (l Log) find(id string) (*Shown, error) {
	src, err := l.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	k, err := l.keys()
	if err != nil {
		return nil, err
	}
	var s Shown
	s.Receipt, s.Number, s.proven, err = receipt.Find(src, id, k)
	if errors.Is(err, receipt.ErrNotFound) {
		return nil, envelope.Errorf(envelope.ExitError, "not_found", "receipt %q: %w", terminal.Escape(id), err).
			WithHint("see: claw-receipt list")
	}
	return &s, err
}

// contentOf finds the result that has the receipt's id among records.
func contentOf(in io.Reader, r receipt.Receipt) (*Content, error) {
	lines := record.NewLineReader(in)
	for {
		raw, err := lines.Next()
		if err == io.EOF {
			return nil, envelope.Errorf(envelope.ExitError, "not_found",
				"there is no record with receipt %s on standard input", r.ID).
				WithHint("calls by clawsh tool run are not stored in the memory; claw-receipt alone reads records from standard input: claw-mem export | claw-receipt show %s --with-content", r.ID)
		}
		if err != nil && !errors.Is(err, record.ErrTooLong) {
			return nil, fmt.Errorf("read records: %w", err)
		}
		line, bad := record.Parse(raw)
		if err != nil || bad != nil || line.Kind() != record.KindToolResult || line.Text("receipt_id") != r.ID {
			continue
		}
		var res record.ToolResult
		if err := record.DecodeOpen(raw, &res); err != nil {
			return nil, fmt.Errorf("read the call of receipt %s: %w", r.ID, err)
		}
		args, result, err := r.Compare(res)
		return &Content{Args: res.Args, Success: res.Success, Output: res.Output, Error: res.Error, ArgsMatch: args,
			ResultMatch: result}, err
	}
}
