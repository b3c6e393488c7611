package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// fail turns an error into the final's stop reason, and ends the stages that were involved.
func (t *turn) fail(ctx context.Context, err error) {
	e := envelope.From(err)
	t.final.Error, t.final.ErrorCode, t.final.Hint = e.Message, e.Code, e.Hint
	var stage *StageError
	switch {
	case e.Code == "cancelled", signalled(ctx):
		t.cancelled(ctx, e)
	case errors.As(err, &stage):
		t.final.StopReason, t.final.ErrorCode = record.StopStageError, "stage.died"
	case errors.Is(err, conversation.ErrBusy):
		t.final.StopReason = record.StopTimeout
	case errors.Is(err, ErrTimeout), errors.Is(context.Cause(ctx), ErrTimeout):
		t.final.StopReason, t.final.ErrorCode, t.final.Hint = record.StopTimeout, "limit.timeout",
			"raise limits.turn_timeout_s, or use --timeout for one turn"
		t.final.Error = fmt.Sprintf("no final answer within %s", t.Timeout.Round(time.Millisecond))
	case ctx.Err() != nil, e.Code == "provider.cancelled":
		t.cancelled(ctx, e)
	case strings.HasPrefix(e.Code, "provider."):
		t.final.StopReason = record.StopProviderError
	default:
		t.final.StopReason = record.StopStageError
	}
	t.keepSaid()
	ended := t.abandon()
	t.final.CancelObserved = ended && (t.final.StopReason == record.StopCancelled ||
		t.final.StopReason == record.StopTimeout)
}

// cancelled says that a signal ended the turn: one to us, or one that ended a stage, as when a whole process group
// gets it.
func (t *turn) cancelled(ctx context.Context, e *envelope.Error) {
	if e.Code != "cancelled" {
		e = envelope.Cancelled(syscall.SIGTERM)
	}
	t.final.StopReason, t.final.ErrorCode, t.final.Hint, t.final.Error = record.StopCancelled, "cancelled", "",
		e.Message
	if cause := context.Cause(ctx); cause != nil {
		t.final.Error = cause.Error()
	}
}

// signalled reports whether somebody cancelled the context, and not the clock.
func signalled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrTimeout)
}

// keepSaid makes the streamed part of an incomplete response the answer.
func (t *turn) keepSaid() {
	if t.said.Len() == 0 {
		return
	}
	t.final.Content = t.said.String()
	t.say(record.Message{Role: "assistant", Content: t.final.Content})
}

// abandon ends claw-llm and the tool chain; results of calls that were in flight are kept. It reports whether all of
// them ended by themselves.
func (t *turn) abandon() bool {
	ended := true
	if t.llm != nil && t.final.StopReason != record.StopProviderError {
		t.llm.cancel()
		ended = t.llm.stop() && ended
		t.set(func() { t.llm = nil })
	}
	if t.chain != nil {
		t.chain.cancel()
		t.collect(t.chain)
		ended = t.chain.stop() && ended
		t.set(func() { t.chain = nil })
	}
	return ended
}

// finish stores the final, waits until everything is durable, and emits it.
func (t *turn) finish(ctx context.Context) (record.Final, error) {
	t.final.TS = record.Now()
	if err := t.persistFinal(context.WithoutCancel(ctx)); t.held && err != nil &&
		t.final.StopReason != record.StopStageError {
		t.notPersisted(ctx, envelope.From(err))
	}
	if t.mem != nil && t.mem.broken() {
		t.mem.stop()
		t.set(func() { t.mem = nil })
	}
	if t.Stored != nil && t.held {
		t.Seen = t.Stored()
	}
	return t.final, t.emitRecord(t.final)
}

// notPersisted says in the final that it could not be stored. If a signal ended claw-mem, as when all processes get
// it before claw-mem can handle it, the turn is cancelled.
func (t *turn) notPersisted(ctx context.Context, e *envelope.Error) {
	if e.Code == "cancelled" {
		t.cancelled(ctx, e)
		t.final.Error += ", and the turn is not stored"
		return
	}
	t.final.StopReason, t.final.Error, t.final.ErrorCode = record.StopStageError, "the turn is not stored: "+e.Message,
		"memory.not_persisted"
}

func (t *turn) emitRecord(v any) error {
	line, err := record.Encode(v)
	if err != nil {
		return err
	}
	return t.Emit(line)
}

func (t *turn) persistFinal(ctx context.Context) error {
	if t.Ephemeral || !t.held {
		return nil
	}
	if t.mem == nil {
		return errors.New("claw-mem is not running")
	}
	if err := t.persist(t.final); err != nil {
		return err
	}
	return t.mem.sync(ctx)
}
