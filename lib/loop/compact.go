package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// ErrSmall means that a conversation has no turns that a summary could replace.
var ErrSmall = errors.New("there is nothing to summarise")

// Compact has the model write a summary of all turns but the newest keep (at least one), and of the previous summary.
// It is durable when Compact returns, and from then on is sent in place of those turns, which stay in the memory.
// ErrSmall means that there are no other turns. After an error the conversation is unchanged.
func (l *Loop) Compact(ctx context.Context, keep int) (record.Summary, error) {
	old := l.history.Turns[:max(0, len(l.history.Turns)-max(1, keep))]
	if len(old) == 0 {
		return record.Summary{}, ErrSmall
	}
	if err := l.Warm(ctx); err != nil {
		return record.Summary{}, err
	}
	newest := l.history.Turns[len(l.history.Turns)-1]
	return l.summarise(ctx, old, newest.ID, func(*record.Request, *record.Response) error { return nil })
}

// compact writes a summary before a turn if the conversation has become too long. If the model or its provider fails,
// that is a warning, and the turn continues without a new summary.
func (t *turn) compact(ctx context.Context) error {
	if t.CompactAt <= 0 || t.history.Tokens() < t.CompactAt {
		return nil
	}
	err := t.reload(ctx)
	old := fallen(t.history.Turns[:len(t.history.Turns)-1], t.CompactAt/4)
	if err == nil && (len(old) == 0 || t.history.Tokens() < t.CompactAt) {
		return nil
	}
	var s record.Summary
	if err == nil {
		s, err = t.summarise(ctx, old, t.id, func(req *record.Request, resp *record.Response) error {
			t.spend(req, resp)
			if t.limited() {
				return errors.New("the turn has reached its limit")
			}
			return nil
		})
	}
	var stage *StageError
	switch {
	case err == nil:
		return t.emitRecord(s)
	case ctx.Err() != nil, errors.As(err, &stage), envelope.From(err).Code == "provider.cancelled":
		return err
	}
	t.Warn("compaction_failed", "conversation_id", t.ConversationID, "code", envelope.From(err).Code, "error",
		err.Error())
	return nil
}

// reload reads the turns before this one from the memory, with those that others have added and without those that
// were deleted. Turns that began after this one are left for later.
func (t *turn) reload(ctx context.Context) error {
	if t.Reload == nil || t.Ephemeral {
		return nil
	}
	if err := t.mem.sync(ctx); err != nil {
		return err
	}
	stored, err := t.Reload(ctx, t.ConversationID)
	if err != nil {
		return fmt.Errorf("read the conversation again: %w", err)
	}
	turns := stored.Turns
	if i := slices.IndexFunc(turns, func(o conversation.Turn) bool { return o.ID == t.id }); i >= 0 {
		turns = turns[:i:i]
	}
	this := t.history.Turns[len(t.history.Turns)-1]
	stored.Turns = append(turns, this)
	t.history = stored
	return nil
}

// fallen returns the turns for a summary to replace: all but the newest, and those before it that are small together.
func fallen(turns []conversation.Turn, small int) []conversation.Turn {
	n := len(turns) - 1
	if n < 1 {
		return nil
	}
	kept := conversation.Conversation{Turns: turns[n:]}.Tokens()
	for n > 0 {
		kept += conversation.Conversation{Turns: turns[n-1 : n]}.Tokens()
		if kept > small {
			break
		}
		n--
	}
	return turns[:n]
}

// summarise has the model write a summary of the previous summary and the old turns, the first of the conversation,
// makes it durable and replaces them by it. It calls used with each response; if that fails, it makes no more
// requests.
func (l *Loop) summarise(ctx context.Context, old []conversation.Turn, turnID string,
	used func(*record.Request, *record.Response) error) (record.Summary, error) {
	s := record.Summary{V: record.Version, Kind: record.KindSummary, ID: record.NewID("sum-"),
		ConversationID: l.ConversationID, TurnID: turnID, Agent: l.Agent,
		Content: l.history.Summary, ThroughTurnID: old[len(old)-1].ID, ThroughRecordID: old[len(old)-1].Record,
		Turns: len(old)}
	if last, err := l.write(ctx, &s, old, used); err != nil {
		return s, l.wasted(ctx, &s, last, err)
	}
	if l.history.LeftOut > 0 {
		s.Content += fmt.Sprintf("\n\n(Too much to summarise: %s before that.)", spelling.Count(l.history.LeftOut, "turn"))
	}
	s.TS = record.Now()
	line, err := record.Encode(s)
	if err != nil {
		return s, err
	}
	if err := l.keep(ctx, line); err != nil {
		return s, fmt.Errorf("store the summary: %w", err)
	}
	l.history = conversation.Conversation{Summary: s.Content, Turns: l.history.Turns[len(old):]}
	return s, nil
}

// write asks for the content of a summary, and returns the last response, or nil.
func (l *Loop) write(ctx context.Context, s *record.Summary, old []conversation.Turn,
	used func(*record.Request, *record.Response) error) (last *record.Response, err error) {
	// a request contains a transcript and the summary so far, each at most half of what the model can be sent
	texts := conversation.Transcripts(old, (l.Budget.Tokens+1)/2)
	for i, text := range texts {
		req := l.summaryRequest(s.Content, text, s.TurnID)
		resp, err := l.askOnce(ctx, req)
		if err != nil {
			return last, fmt.Errorf("ask for a summary: %w", err)
		}
		last = resp
		s.Usage, s.Provider, s.Model = s.Usage.Add(resp.Usage), resp.Provider, resp.Model
		s.Content = strings.TrimSpace(resp.FinalText)
		spent := used(req, resp)
		if resp.FinishReason != record.FinishStop && resp.FinishReason != record.FinishToolCalls && s.Content != "" {
			return last, envelope.Errorf(envelope.ExitError, "compact.cut",
				"the model's summary is incomplete: it ended by %q", resp.FinishReason).WithHint(unchanged)
		}
		if err := l.acceptable(s.Content, old); err != nil {
			return last, err
		}
		if spent != nil && i < len(texts)-1 {
			return last, spent
		}
	}
	return last, nil
}

// wasted stores the usage of a failed summary, as a response without text, which is sent to no model and included in
// every count. It returns the error.
func (l *Loop) wasted(ctx context.Context, s *record.Summary, last *record.Response, cause error) error {
	if last == nil {
		return cause
	}
	line, err := record.Encode(record.Response{V: record.Version, Kind: record.KindResponse, ID: record.NewID("resp-"),
		ConversationID: s.ConversationID,
		TurnID:         s.TurnID, TS: record.Now(), RequestID: last.RequestID, FinishReason: last.FinishReason,
		Provider: s.Provider, Model: s.Model, ToolCalls: []record.CallPart{}, Usage: s.Usage})
	if err == nil {
		err = l.keep(context.WithoutCancel(ctx), line)
	}
	if err != nil {
		l.Warn("usage_not_stored", "conversation_id", s.ConversationID, "error", err.Error())
	}
	return cause
}

// keep makes a record durable, unless the conversation is ephemeral.
func (l *Loop) keep(ctx context.Context, line []byte) error {
	if l.Ephemeral {
		return nil
	}
	return errors.Join(l.mem.put(line), l.mem.sync(ctx))
}

const unchanged = "nothing was changed; try again, or use another model"

// smallSummary is how many tokens a summary may always have, even of less.
const smallSummary = 1000

// acceptable rejects a summary that is empty, or so long that it would displace later turns.
func (l *Loop) acceptable(text string, old []conversation.Turn) error {
	most := max(smallSummary, conversation.Conversation{Summary: l.history.Summary, Turns: old}.Tokens()/2)
	if l.Budget.Tokens > 0 {
		most = min(most, l.Budget.Tokens/2)
	}
	switch n := conversation.TextTokens(text); {
	case n == 0:
		return envelope.Errorf(envelope.ExitError, "compact.empty", "the model wrote no summary").WithHint(unchanged)
	case n > most:
		return envelope.Errorf(envelope.ExitError, "compact.too_long",
			"the model's summary has about %d tokens, more than the useful maximum of %d", n, most).WithHint(unchanged)
	}
	return nil
}

func (l *Loop) summaryRequest(earlier, transcript, turnID string) *record.Request {
	return &record.Request{V: record.Version, Kind: record.KindRequest, ID: record.NewID("req-"),
		ConversationID: l.ConversationID, TurnID: turnID, TS: record.Now(),
		Provider: l.Provider, Model: l.Model, SystemPrompt: conversation.SummaryPrompt,
		Messages: []record.Message{conversation.SummaryRequest(earlier, transcript, record.NewID(""))}}
}

// askOnce sends a request without tools and returns the response. Calls that a model makes anyway are read but not
// run; nothing is passed on or stored.
func (l *Loop) askOnce(ctx context.Context, req *record.Request) (*record.Response, error) {
	line, err := record.Encode(req)
	if err != nil {
		return nil, err
	}
	if err := l.llm.send(line); err != nil {
		return nil, err
	}
	var resp *record.Response
	for calls := 0; resp == nil || calls < len(resp.ToolCalls); {
		line, err := next(ctx, l.llm)
		if err != nil {
			return nil, err
		}
		switch {
		case line.Kind() == record.KindResponse && line.Text("request_id") == req.ID:
			resp = &record.Response{}
			if err := record.DecodeOpen(line.Bytes(), resp); err != nil {
				return nil, fmt.Errorf("read the response of claw-llm: %w", err)
			}
		case line.Kind() == record.KindToolCall && line.Text("request_id") == req.ID:
			calls++
		case line.Kind() == record.KindError && (line.Text("ref") == req.ID || line.Text("ref") == ""):
			return nil, reported(line)
		}
	}
	return resp, nil
}
