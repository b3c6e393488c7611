package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"clawsh/lib/record"
)

// round runs calls if the configuration can be read before and after: half a policy is not a policy. Otherwise each
// stage that starts or decides would report it; here it is reported once.
func (t *turn) round(ctx context.Context, calls []record.Line) error {
	if err := t.Check(); err != nil {
		return err
	}
	err := t.runTools(ctx, calls)
	var died *StageError
	if err == nil || errors.As(err, &died) {
		err = cmp.Or(t.Check(), err)
	}
	return err
}

// runTools sends the calls to the chain, as the bytes that claw-llm wrote, and collects one result for each.
func (t *turn) runTools(ctx context.Context, calls []record.Line) error {
	if err := t.startChain(ctx); err != nil {
		return err
	}
	room, err := t.chain.reserve(len(calls))
	if err != nil {
		return err
	}
	waiting := map[string]bool{}
	for _, c := range calls {
		t.Event("tool_requested", "call_id", c.ID(), "conversation_id", t.ConversationID)
		if err := t.Emit(c.Bytes()); err != nil {
			return err
		}
		waiting[c.ID()] = true
	}
	for _, c := range calls {
		if t.Shown == nil {
			break
		}
		if err := t.Shown(ctx, c.ID()); err != nil {
			return err
		}
	}
	if err := t.chain.reserved(ctx, room); err != nil {
		return err
	}
	go t.feed(t.chain, calls)
	for len(waiting) > 0 {
		line, err := next(ctx, t.chain)
		if err != nil {
			return err
		}
		if err := t.result(line, waiting); err != nil {
			return err
		}
	}
	return nil
}

// reserve asks claw-receipt, through the chain, to reserve room for receipts.
func (p *peer) reserve(receipts int) (id string, err error) {
	ask := record.Reserve{V: record.Version, Kind: record.KindReserve, ID: record.NewID("reserve-"), Receipts: receipts}
	line, err := record.Encode(ask)
	if err != nil {
		return "", err
	}
	return ask.ID, p.send(line)
}

// reserved waits until there is room. No call may be sent before: a call that cannot leave a receipt is not run.
func (p *peer) reserved(ctx context.Context, id string) error {
	for {
		line, err := next(ctx, p)
		if err != nil {
			return err
		}
		switch {
		case line.Kind() == record.KindError && line.Text("ref") == id:
			return reported(line)
		case line.Kind() == record.KindReserve && line.ID() == id:
			if made, ok := line.Field("reserved"); !ok || string(made) != "true" {
				return fmt.Errorf("claw-receipt did not confirm that there is room for receipts")
			}
			return nil
		}
	}
}

// feed writes the calls without blocking the reader of the results, since pipes are small. If a write fails, the
// results end.
func (t *turn) feed(p *peer, calls []record.Line) {
	for _, c := range calls {
		if _, err := p.in.Write(append(c.Clone().Bytes(), '\n')); err != nil {
			return
		}
	}
}

// result takes one line from the chain: the result of a call, or an error record about it.
func (t *turn) result(line record.Line, waiting map[string]bool) error {
	switch line.Kind() {
	case record.KindToolResult:
	case record.KindError:
		return reported(line)
	default:
		return nil
	}
	if !waiting[line.ID()] {
		return nil
	}
	delete(waiting, line.ID())
	var r record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return fmt.Errorf("read a tool result: %w", err)
	}
	t.note(r)
	return errors.Join(t.store(line.Bytes()), t.Emit(line.Bytes()))
}

// stopped is claw-exec's reason for cancelling a tool because of the emergency stop.
const stopped = "emergency stop"

// note adds a result to the conversation and to the final record.
func (t *turn) note(r record.ToolResult) {
	content := r.Output
	if r.Error != "" {
		content = r.Error
		if r.Output != "" {
			content += "\n" + r.Output
		}
	}
	t.say(record.Message{Role: "tool", ToolCallID: r.ID, Content: content, IsError: !r.Success})
	if r.ReceiptID != "" {
		t.final.Receipts = append(t.final.Receipts, r.ReceiptID)
	}
	if r.Metadata.Sandbox == record.SandboxUnavailable && t.final.Unconfined == "" {
		t.final.Unconfined = r.Error
	}
	if d, ok := denial(r); ok {
		t.final.Denials = append(t.final.Denials, d)
	}
}

// denial says what denied or ended a call. The emergency stop does both; just before a call begins, claw-exec reports
// it.
func denial(r record.ToolResult) (d record.Denial, ok bool) {
	d = record.Denial{ID: r.ID, Tool: r.Tool, Reason: r.Error}
	if r.Verdict != nil {
		d.Approval = r.Verdict.Approval
	}
	halted := r.Metadata.CancelledReason == stopped
	switch {
	case halted && r.Status != record.StatusDenied:
		d.Rule, d.Reason = "estop", "the emergency stop ended it while it ran"
	case r.Status != record.StatusDenied:
		return d, false
	case r.Verdict != nil && r.Verdict.Decision != record.Allow:
		d.Rule, d.Reason = r.Verdict.Rule, r.Verdict.Reason
	case halted:
		d.Rule = "estop"
	case r.Verdict != nil:
		d.Rule = "exec.refused" // the gate said yes, claw-exec did not
	}
	return d, true
}

// collect takes what a cancelled chain still reports.
func (t *turn) collect(p *peer) {
	deadline := time.NewTimer(cancelGrace)
	defer deadline.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return
			}
			if line.Kind() == record.KindToolResult {
				t.result(line, map[string]bool{line.ID(): true})
			}
		case <-deadline.C:
			p.kill()
			return
		}
	}
}

// RunTool sends one call through the tool chain, as a turn would, and returns its result.
func RunTool(ctx context.Context, s Starter, call record.ToolCall) (record.ToolResult, error) {
	var r record.ToolResult
	line, err := record.Encode(call)
	if err != nil {
		return r, err
	}
	specs, err := s.Tools()
	if err != nil {
		return r, err
	}
	p, err := start(context.WithoutCancel(ctx), "tool chain", specs...)
	if err != nil {
		return r, fmt.Errorf("start the tool chain: %w", err)
	}
	defer p.stop()
	room, err := p.reserve(1)
	if err == nil {
		err = p.reserved(ctx, room)
	}
	if err == nil {
		err = p.send(line)
	}
	if err != nil {
		return r, err
	}
	p.closeInput()
	out, err := next(ctx, p)
	if ctx.Err() != nil {
		p.cancel()
		out, err = next(context.WithoutCancel(ctx), p)
	}
	if err != nil {
		return r, err
	}
	if out.Kind() == record.KindError {
		return r, reported(out)
	}
	return r, record.DecodeOpen(out.Bytes(), &r)
}
