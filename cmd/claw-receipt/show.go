package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

type showResult struct {
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Content *content        `json:"content,omitzero"`

	proven bool // it is among those that the tiles of the log hold, or behind them
}

// content is what a receipt was written for, and whether it is.
type content struct {
	Args        record.Raw `json:"args"`
	Success     bool       `json:"success"`
	Output      string     `json:"output"`
	Error       string     `json:"error,omitzero"`
	ArgsMatch   bool       `json:"args_match"`
	ResultMatch bool       `json:"result_match"`
}

// WriteText writes the fields of the receipt, and the content behind them.
func (s showResult) WriteText(w io.Writer) error {
	writeReceipt(w, s.Number, s.Receipt)
	if s.Content == nil {
		return nil
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
			fmt.Fprintln(w, terminal.Sanitize(text))
		}
	}
	return nil
}

// became says in a word what became of the call.
func (c *content) became(r receipt.Receipt) string {
	switch {
	case c.Success:
		return "succeeded"
	case c.ResultMatch && r.Status == record.StatusDenied:
		return "denied"
	}
	return "failed"
}

func writeReceipt(w io.Writer, number int, r receipt.Receipt) {
	for _, f := range [][2]string{{"number", fmt.Sprint(number)}, {"id", r.ID}, {"timestamp", r.Timestamp},
		{"conversation_id", r.ConversationID},
		{"tool", r.Tool}, {"status", r.Status}, {"risk", r.Risk}, {"args_hash", r.ArgsHash},
		{"result_hash", r.ResultHash}, {"attestation", r.Attestation},
		{"previous_hash", r.PreviousHash}, {"receipt_hash", r.ReceiptHash}, {"mac", r.MAC}} {
		if f[1] != "" {
			fmt.Fprintf(w, "%-16s %s\n", f[0], terminal.Escape(f[1]))
		}
	}
}

func show() command.Command {
	withContent := false
	return command.Command{Name: "show", Offered: []string{"receipt show"}, Access: indexing, Args: "ID", Min: 1,
		Max: 1, Complete: latest, Summary: "show one receipt",
		Long: `A unique prefix of the id is enough.

With --with-content, reads records from standard input, finds the record of the call, and checks that its arguments and
its result are those that the receipt was written for. clawsh receipt show pipes claw-mem export into it. If a secret
was withheld when the result was stored, the stored text does not match the receipt.`,
		Example: "claw-receipt show receipt-019df3c2\nclaw-mem export | claw-receipt show receipt-019df3c2 --with-content",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&withContent, "with-content", false,
				"show the call's record from standard input too, and check its hashes")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			s, err := find(c, c.Args[0])
			if err != nil {
				return nil, err
			}
			if err := genuine(c, s); err != nil {
				return *s, err
			}
			if !withContent {
				return *s, nil
			}
			if s.Content, err = contentOf(c.Stdin, s.Receipt); err != nil {
				return nil, err
			}
			if !s.Content.ArgsMatch || !s.Content.ResultMatch {
				return *s, envelope.Errorf(envelope.ExitError, "receipt.mismatch",
					"the content does not match receipt %s", terminal.Escape(s.Receipt.ID)).
					WithHint("the record was changed, or a secret was withheld when it was stored (look for a note such as [withheld: …])")
			}
			return *s, nil
		}}
}

// genuine refuses to show as a receipt what somebody without the key put into the log, or changed there. For one that
// the key in use did not seal, the whole log has to speak: it is older than all keys, or its key was replaced, and may
// have leaked. Of one that is proven by tiles, the key in use has signed that the log has spoken.
func genuine(c *command.Call, s *showResult) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	k, err := ownKeys(cfg)
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
	var o verifyOptions
	v := verifyResult{Log: cfg.Receipts.Path}
	if err = o.held(c, &v); err == nil && !v.Valid {
		err = v.failure()
	}
	return err
}

// find looks up a receipt.
func find(c *command.Call, id string) (*showResult, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	src, err := reading(cfg)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	k, err := ownKeys(cfg)
	if err != nil {
		return nil, err
	}
	var s showResult
	s.Receipt, s.Number, s.proven, err = receipt.Find(src, id, k)
	if errors.Is(err, receipt.ErrNotFound) {
		return nil, envelope.Errorf(envelope.ExitError, "not_found", "receipt %q: %w", terminal.Escape(id), err).
			WithHint("see: claw-receipt list")
	}
	return &s, err
}

// contentOf finds the result that bears the receipt's id among records.
func contentOf(in io.Reader, r receipt.Receipt) (*content, error) {
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
		return &content{Args: res.Args, Success: res.Success, Output: res.Output, Error: res.Error, ArgsMatch: args,
			ResultMatch: result}, err
	}
}
