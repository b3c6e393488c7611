package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// turn is the state of one turn.
type turn struct {
	*Loop
	other bool            // it continues a different conversation than the turn before
	held  bool            // the conversation is ours
	said  strings.Builder // the part of the current response that was streamed

	metadata record.Raw // the user's
	id       string
	final    record.Final
	spent    spending
	last     bool // the rounds are used up, and the answer is asked for without tools
	// project is the part of the system prompt that comes from the workspace.
	project string
}

// ErrTimeout is the cause of a turn that took longer than Options.Timeout.
var ErrTimeout = errors.New("the turn took too long")

// Turn runs one turn and returns its final record, which has been emitted, and stored unless its Error says
// otherwise. A cancelled context ends the turn early: what was done is kept, and the final says so. The error is not
// nil only if the final could not be emitted.
func (l *Loop) Turn(ctx context.Context, user record.User) (record.Final, error) {
	t := l.begin(&user)
	work := ctx
	if l.Timeout > 0 {
		var cancel context.CancelFunc
		work, cancel = context.WithTimeoutCause(ctx, l.Timeout, ErrTimeout)
		defer cancel()
	}
	release, waited, err := t.hold(work)
	if err == nil {
		defer release()
		t.held, t.other = true, t.other || waited || t.changed()
		err = t.run(work, user)
	}
	if err != nil {
		t.fail(work, err)
	}
	return t.finish(ctx)
}

// Refuse ends a turn before it begins, for an outside reason. It emits a final record and keeps nothing else.
func (l *Loop) Refuse(ctx context.Context, user record.User, why error) (record.Final, error) {
	id, history := l.ConversationID, l.history
	t := l.begin(&user)
	t.fail(ctx, why)
	final, err := t.finish(ctx)
	l.ConversationID, l.history = id, history
	return final, err
}

func (l *Loop) begin(user *record.User) *turn {
	other := user.ConversationID != "" && user.ConversationID != l.ConversationID
	if other {
		l.ConversationID, l.history, l.started = user.ConversationID, conversation.Conversation{}, true
	}
	if !l.started {
		l.started = true
		l.Event("conversation_started", "conversation_id", l.ConversationID, "agent", l.Agent)
	}
	if user.TurnID == "" {
		user.TurnID = record.NewID("turn-")
	}
	if user.ID == "" {
		user.ID = record.NewID("msg-")
	}
	user.V, user.Kind, user.ConversationID, user.Agent = record.Version, record.KindUser, l.ConversationID, l.Agent
	user.TS = record.Now()
	return &turn{Loop: l, metadata: user.Metadata, id: user.TurnID, other: other,
		final: record.Final{V: record.Version, Kind: record.KindFinal, ID: record.NewID("final-"),
			ConversationID: l.ConversationID, TurnID: user.TurnID, Agent: l.Agent, Denials: []record.Denial{},
			Receipts: []string{}}}
}

// changed reports whether others may have added to a stored conversation since it was read.
func (t *turn) changed() bool {
	return t.Stored != nil && len(t.history.Turns) > 0 && t.Stored() != t.Seen
}

// run is the loop itself: ask, run tools, ask again.
func (t *turn) run(ctx context.Context, user record.User) error {
	if err := t.Warm(ctx); err != nil {
		return err
	}
	if err := t.begun(user); err != nil {
		return err
	}
	t.readProject()
	t.history.Turns = append(t.history.Turns, conversation.Turn{ID: t.id, Record: t.final.ID})
	t.say(record.Message{Role: "user", Content: user.Content})
	if t.other { // it may be a stored one
		if err := t.reload(ctx); err != nil {
			return err
		}
	}
	if err := t.compact(ctx); err != nil {
		return err
	}
	if t.limited() {
		return nil
	}
	for {
		resp, calls, err := t.ask(ctx)
		if err != nil {
			return err
		}
		t.say(record.Message{Role: "assistant", Content: resp.FinalText, ToolCalls: resp.ToolCalls,
			Original: resp.Original})
		t.final.Content = resp.FinalText
		if len(calls) == 0 {
			t.answered(resp)
			return nil
		}
		if t.exhausted() {
			t.refuse(resp.ToolCalls)
			return t.conclude(ctx)
		}
		if t.limited() {
			t.refuse(resp.ToolCalls)
			return nil
		}
		t.final.Rounds++
		if err := t.round(ctx, calls); err != nil {
			return err
		}
	}
}

// say adds a message to the turn, the last of the conversation.
func (t *turn) say(m record.Message) {
	if n := len(t.history.Turns); n > 0 {
		last := &t.history.Turns[n-1]
		last.Messages = append(last.Messages, m)
	}
}

// begun stores the user's record, and emits it if Events is set.
func (t *turn) begun(user record.User) error {
	line, err := record.Encode(user)
	if err == nil {
		err = t.store(line)
	}
	if err == nil && t.Events {
		err = t.Emit(line)
	}
	return err
}

// persist sends a record to claw-mem to be stored, without waiting.
func (t *turn) persist(v any) error {
	line, err := record.Encode(v)
	if err != nil {
		return err
	}
	return t.store(line)
}

// store sends what is already a line.
func (t *turn) store(line []byte) error {
	if t.Ephemeral {
		return nil
	}
	return t.mem.put(line)
}

// ask sends the request and returns the response with its tool_call lines.
func (t *turn) ask(ctx context.Context) (*record.Response, []record.Line, error) {
	req := &record.Request{V: record.Version, Kind: record.KindRequest, ID: record.NewID("req-"),
		ConversationID: t.ConversationID,
		TurnID:         t.id, TS: record.Now(), Metadata: t.metadata, Provider: t.Provider, Model: t.Model,
		SystemPrompt: t.SystemPrompt + t.facts() + t.project,
		Messages:     t.roundsLeft(t.history.Choose(t.Budget).Messages()), Tools: t.Tools, Temperature: t.Temperature,
		Stream: t.Stream}
	if t.last {
		req.Tools = nil
	}
	line, err := record.Encode(req)
	if err != nil {
		return nil, nil, err
	}
	if len(line) > record.MaxLineBytes {
		return nil, nil, envelope.Errorf(envelope.ExitError, "request.too_large",
			"the conversation is too long to send: %d bytes, at most %d",
			len(line), record.MaxLineBytes).WithHint("start a new conversation, or lower context.max_tokens")
	}
	if err := t.llm.send(line); err != nil {
		return nil, nil, err
	}
	return t.answer(ctx, req)
}

// answer reads what claw-llm says about a request: deltas, then a response and its tool calls, or an error.
func (t *turn) answer(ctx context.Context, req *record.Request) (*record.Response, []record.Line, error) {
	id := req.ID
	t.said.Reset()
	var resp *record.Response
	var calls []record.Line
	for resp == nil || len(calls) < len(resp.ToolCalls) {
		line, err := next(ctx, t.llm)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case line.Kind() == record.KindDelta && line.Text("request_id") == id:
			t.said.WriteString(line.Text("text"))
			err = t.Emit(line.Bytes())
		case line.Kind() == record.KindResponse && line.Text("request_id") == id:
			resp, err = t.response(req, line)
		case line.Kind() == record.KindToolCall && line.Text("request_id") == id && resp != nil:
			calls = append(calls, line)
		case line.Kind() == record.KindError && (line.Text("ref") == id || line.Text("ref") == ""):
			err = reported(line)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return resp, calls, nil
}

func (t *turn) response(req *record.Request, line record.Line) (*record.Response, error) {
	var r record.Response
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("read the response of claw-llm: %w", err)
	}
	t.spend(req, &r)
	t.said.Reset()
	t.final.Provider, t.final.Model, t.final.FinishReason = r.Provider, r.Model, r.FinishReason
	if t.Events {
		if err := t.Emit(line.Bytes()); err != nil {
			return nil, err
		}
	}
	return &r, t.store(line.Bytes())
}

// next waits for the next line of a conversation.
func next(ctx context.Context, p *peer) (record.Line, error) {
	select {
	case line, ok := <-p.lines:
		if ok {
			return line, nil
		}
	case <-p.died:
	case <-ctx.Done():
		return record.Line{}, context.Cause(ctx)
	}
	select {
	case line, ok := <-p.lines: // said before it died
		if ok {
			return line, nil
		}
	default:
	}
	return record.Line{}, p.gone(fmt.Errorf("%s ended", p.name))
}

// reported returns the error in an error record, with its exit code.
func reported(line record.Line) error {
	var e record.Error
	if err := record.DecodeOpen(line.Bytes(), &e); err != nil {
		return err
	}
	exit := envelope.ExitError
	if strings.HasPrefix(e.Code, "provider.") {
		exit = envelope.ProviderExit(e.Code)
	}
	return &envelope.Error{Code: e.Code, Message: e.Message, Hint: e.Hint, Exit: exit}
}
