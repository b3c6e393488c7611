package main

import (
	"context"
	"errors"
	"fmt"

	"clawsh/lib/command"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/permit"
	"clawsh/lib/receipt"
	"clawsh/lib/receiptlog"
	"clawsh/lib/record"
	"clawsh/lib/stage"
	"clawsh/lib/terminal"
)

func filter() command.Command {
	return command.Command{
		Filter:  true,
		Summary: "write a receipt for each tool_result record",
		Example: `claw-llm <requests.jsonl | claw-gate | claw-exec | claw-receipt | claw-mem`,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			l := receiptlog.Of(cfg)
			if err := l.Ready(); err != nil { // said here: without a home, the lock may not even be made
				return nil, err
			}
			underWay, err := durable.Share(cfg.UnderWayPath())
			if err != nil {
				return nil, fmt.Errorf("announce that receipts may be pending: %w", err)
			}
			defer underWay.Close()
			log, err := l.Writer()
			if err != nil {
				return nil, err
			}
			defer log.Close()
			room := func(_ context.Context, line record.Line,
				out *stage.Writer) error {
				return reserve(log, line, out)
			}
			if c.Getenv("CLAWSH_DRIVEN") == "" { // claw-loop asks before each round
				if err := log.Reserve(1); err != nil {
					return nil, envelope.Errorf(envelope.ExitError, "receipt.failed", "receipts cannot be written: %w",
						err)
				}
			}
			w := &writer{call: c, log: log, executors: permit.NewExecutors(cfg.ExecutorsDir())}
			res, err := stage.Filter(ctx, c, stage.Stage{Drain: true,
				Handlers: map[record.Kind]stage.Handler{record.KindToolResult: w.handle, record.KindReserve: room}})
			if w.wrote {
				_ = log.Settle(cfg.AuditPath()) // it spares the next start a look at both logs
			}
			return res, err
		},
	}
}

// maxReserved bounds what one record may ask for.
const maxReserved = 1000

// reserve takes room for the receipts of calls that are about to be sent.
func reserve(log *receipt.Log, line record.Line, out *stage.Writer) error {
	var r record.Reserve
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return envelope.Errorf(0, "record.syntax", "read a reserve record: %w", err)
	}
	if r.Receipts < 1 || r.Receipts > maxReserved {
		return envelope.Errorf(0, "record.syntax", "reserve record %s: want 1 to %d receipts", line.ID(), maxReserved)
	}
	if err := log.Reserve(r.Receipts); err != nil {
		return envelope.Errorf(envelope.ExitError, "receipt.failed",
			"no call runs, because its receipt could not be written: %w", err)
	}
	spliced, err := line.With(record.Field{Name: "reserved", Value: true})
	if err != nil {
		return err
	}
	return out.Write(spliced)
}

// writer is the filter's state.
type writer struct {
	call      *command.Call
	log       *receipt.Log
	executors *permit.Executors
	wrote     bool
}

// owned are the fields that a receipt adds to a result.
var owned = []string{"receipt_id", "unattested"}

// handle appends the receipt of a result and passes the result on with its id. A result whose receipt cannot be written
// does not move on; one that claw-exec has not sealed does, with why it counts as unattested.
func (w *writer) handle(_ context.Context, line record.Line, out *stage.Writer) error {
	for _, name := range owned {
		if _, ok := line.Field(name); ok {
			return envelope.Errorf(0, "receipt.exists", "tool result %s already has a field %q", line.ID(), name)
		}
	}
	var res record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &res); err != nil {
		return envelope.Errorf(0, "tool_result.invalid", "read tool result: %w", err)
	}
	a, why := w.attest(line)
	res.Tool = w.call.Secrets.Text(res.Tool) // a name that the model chose; the hashes are over what the record holds
	r, err := w.log.AppendSealed(res, a)
	if errors.Is(err, receipt.ErrExists) {
		return envelope.Errorf(0, "receipt.exists",
			"write the receipt for %s: %w: a receipt already exists: duplicate result, or recover marked the call as interrupted", res.ID, err)
	}
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "receipt.failed", "write the receipt for %s: %w", res.ID, err)
	}
	w.wrote = true
	w.call.Event(command.EventReceiptWritten, "receipt_id", r.ID, "call_id", res.ID, "tool", r.Tool, "status", r.Status)
	fields := []record.Field{{Name: "receipt_id", Value: r.ID}}
	if why != nil {
		w.call.Log.Warn(fmt.Sprintf("the result of call %s is unattested", terminal.Escape(res.ID)),
			"event", "unattested", "call_id", res.ID, "receipt_id", r.ID, "error", why.Error())
		fields = append(fields, record.Field{Name: "unattested", Value: why.Error()})
	}
	spliced, err := line.With(fields...)
	if err != nil {
		return err
	}
	return out.Write(spliced)
}

// attest says by whom a result is attested, or why by nobody.
func (w *writer) attest(line record.Line) (receipt.Attestation, error) {
	s, err := w.executors.Open(line)
	if err != nil {
		return receipt.Attestation{}, err
	}
	return receipt.Attestation{By: s.Executor, Seal: s.ID, Audit: s.AuditID}, nil
}
