package memory

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/conversation"
	"clawsh/lib/record"
)

// Context is what a model is sent of a conversation: its newest summary, if it has one, and the turns after what that stands
// for, as conversation.Choose chooses them. LeftOut is the number of turns after the summary that are not among them.
type Context struct {
	conversation.Conversation
	Summarised *Summary
	LeftOut    int
}

// Summary is a stored summary: its id, and what it stands for.
type Summary struct {
	ID              string `json:"id"`
	Content         string `json:"content"`
	ThroughTurnID   string `json:"through_turn_id"`
	ThroughRecordID string `json:"through_record_id"`
	Turns           int    `json:"turns"`
}

// Context returns what a model is sent of a conversation within the budget. An unknown conversation has no messages; that is
// no error. A summary stands for the turns that began no later than the last one it names and have no records after its
// last; one that names what is not stored stands for nothing. What a final says beyond the turn's last response follows it as a
// message. No more is held in memory than the budget's bytes and one turn.
func (s *Store) Context(conversationID string, b conversation.Budget) (Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.context(conversationID, b)
	if err != nil {
		return Context{}, fmt.Errorf("context of %s: %w", conversationID, err)
	}
	return c, nil
}

func (s *Store) context(conversationID string, b conversation.Budget) (Context, error) {
	var c Context
	covered, err := s.summary(conversationID, &c)
	if err != nil {
		return c, err
	}
	turns, err := s.recentTurns(conversationID, covered)
	if err != nil {
		return c, err
	}
	r := reader{budget: b}
	for _, turn := range turns {
		entries, err := s.entries(`WHERE conversation_id = ? AND turn_id = ? ORDER BY id`, conversationID, turn)
		if err != nil {
			return c, fmt.Errorf("turn %s: %w", turn, err)
		}
		if !r.take(turn, entries) {
			break
		}
	}
	for i := len(r.turns) - 1; i >= 0; i-- {
		c.Turns = append(c.Turns, r.turns[i])
	}
	c.Conversation = c.Choose(b)
	c.LeftOut = len(turns) - r.empty - len(c.Turns)
	return c, nil
}

// extent is where a turn lies among the entries: its first, and its last.
type extent struct{ first, last int64 }

// summary finds the newest summary, and what it covers: turns that begin no later and end no later than that. An absent one
// covers nothing.
func (s *Store) summary(conversationID string, c *Context) (covered extent, err error) {
	var id, content, meta string
	// + keeps SQLite from reading all conversations backwards in search of one summary
	err = s.query(`SELECT record_id, content, metadata FROM entries WHERE conversation_id = ? AND kind = 'summary' ORDER BY +id DESC LIMIT 1`,
		func(st *sqlite3.Stmt) error {
			id, content, meta = st.ColumnText(0), st.ColumnText(1), st.ColumnText(2)
			return nil
		}, conversationID)
	if err != nil || id == "" {
		return extent{}, err
	}
	var m summaryMeta
	if err := decodeMeta(record.Raw(meta), &m); err != nil {
		return extent{}, fmt.Errorf("summary %s: %w", id, err)
	}
	err = s.query(`SELECT coalesce((SELECT min(id) FROM entries WHERE conversation_id = ?1 AND turn_id = ?2), 0),
		coalesce((SELECT id FROM entries WHERE record_id = ?3 AND conversation_id = ?1), 0)`,
		func(st *sqlite3.Stmt) error {
			covered = extent{st.ColumnInt64(0), st.ColumnInt64(1)}
			return nil
		}, conversationID, m.ThroughTurnID, m.ThroughRecordID)
	if err != nil || covered.first == 0 || covered.last == 0 {
		return extent{}, err
	}
	c.Conversation.Summary = content
	c.Summarised = &Summary{ID: id, Content: content, ThroughTurnID: m.ThroughTurnID, ThroughRecordID: m.ThroughRecordID, Turns: m.Turns}
	return covered, nil
}

// recentTurns lists a conversation's turns that are not covered, the one that began last first.
func (s *Store) recentTurns(conversationID string, covered extent) ([]string, error) {
	var turns []string
	err := s.query(`SELECT turn_id FROM entries WHERE conversation_id = ?1 GROUP BY turn_id HAVING min(id) > ?2 OR max(id) > ?3 ORDER BY min(id) DESC`,
		func(st *sqlite3.Stmt) error {
			turns = append(turns, st.ColumnText(0))
			return nil
		}, conversationID, covered.first, covered.last)
	return turns, err
}

// reader takes turns, the newest first, until no more can be chosen.
type reader struct {
	budget conversation.Budget
	turns  []conversation.Turn
	bytes  int // of the turns as they are
	least  conversation.Budget
	empty  int
}

// take takes one turn and tells whether older ones may be needed. Results are shortened as soon as they cannot be sent whole.
func (r *reader) take(id string, entries []Entry) bool {
	t := conversation.Turn{ID: id, Messages: messagesOf(entries)}
	if len(t.Messages) == 0 {
		r.empty++
		return true
	}
	t.Record = entries[len(entries)-1].ID
	newest := len(r.turns) == 0
	for i, m := range t.Messages {
		r.bytes += conversation.Bytes(m)
		short := conversation.ShortenResult(m)
		if !newest && r.budget.Bytes > 0 && r.bytes > r.budget.Bytes {
			t.Messages[i] = short
		}
		if !newest {
			r.least.Messages++
			r.least.Tokens += conversation.Tokens(short)
			r.least.Bytes += conversation.Bytes(short)
		}
	}
	r.turns = append(r.turns, t)
	over := func(most, n int) bool { return most > 0 && n > most }
	return !over(r.budget.Messages, r.least.Messages) && !over(r.budget.Tokens, r.least.Tokens) && !over(r.budget.Bytes, r.least.Bytes)
}

// messagesOf makes the messages of one turn.
func messagesOf(entries []Entry) []record.Message {
	var out []record.Message
	for _, e := range entries {
		switch {
		case e.Kind == record.KindSummary:
		case e.Role == "tool":
			for _, r := range e.ToolResults {
				out = append(out, record.Message{Role: "tool", ToolCallID: r.ID, Content: e.Content, IsError: !r.Success})
			}
		default:
			out = append(out, record.Message{Role: e.Role, Content: e.Content, ToolCalls: e.ToolCalls, Original: e.original()})
		}
	}
	return notRun(entries, conversation.Complete(out))
}

// original is the message of a response as its provider sent it.
func (e *Entry) original() *record.Original {
	var m responseMeta
	if e.Kind != record.KindResponse || decodeMeta(e.Metadata, &m) != nil {
		return nil // an unreadable one is sent as a plain message
	}
	return m.Original
}

// notRun says of calls without a result what the turn's final knows: that they were not run.
func notRun(entries []Entry, messages []record.Message) []record.Message {
	for _, e := range entries {
		var f finalMeta
		if e.Kind != record.KindFinal || decodeMeta(e.Metadata, &f) != nil || conversation.NotRun(f.StopReason) == "" {
			continue
		}
		for i := range messages {
			if m := messages[i]; m.Role == "tool" && m.IsError && m.Content == conversation.Interrupted {
				messages[i].Content = conversation.NotRun(f.StopReason)
			}
		}
	}
	return messages
}
