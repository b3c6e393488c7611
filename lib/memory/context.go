package memory

import (
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/conversation"
	"clawsh/lib/record"
)

// Context is what a model is sent of a conversation: its newest summary, if it has one, and the turns after what that
// stands for, as conversation.Choose chooses them.
type Context struct {
	conversation.Conversation
	Summarised *Summary
}

// Summary is a stored summary: its id, and what it stands for.
type Summary struct {
	ID              string `json:"id"`
	Content         string `json:"content"`
	ThroughTurnID   string `json:"through_turn_id"`
	ThroughRecordID string `json:"through_record_id"`
	Turns           int    `json:"turns"`
}

// Context returns what a model is sent of a conversation within the budget. An unknown conversation has no messages;
// that is no error. A summary stands for the turns that began no later than the last one it names and have no records
// after its last; one that names what is not stored stands for nothing. What a final says beyond the turn's last
// response follows it as a message. No more is held in memory than the budget's bytes and one turn.
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
	r := reader{budget: b}
	total, err := s.eachTurn(conversationID, covered, func(turn string) (bool, error) {
		entries, err := s.entries(`WHERE conversation_id = ? AND turn_id = ? ORDER BY id`, conversationID, turn)
		if err != nil {
			return false, fmt.Errorf("turn %s: %w", turn, err)
		}
		return r.take(turn, entries), nil
	})
	if err != nil {
		return c, err
	}
	for i := len(r.turns) - 1; i >= 0; i-- {
		c.Turns = append(c.Turns, r.turns[i])
	}
	c.Conversation = c.Choose(b)
	c.LeftOut = total - r.empty - len(c.Turns)
	return c, nil
}

// extent is where a turn lies among the entries: its first, and its last.
type extent struct{ first, last int64 }

// summary finds the newest summary, and what it covers: turns that begin no later and end no later than that. An absent
// one covers nothing.
func (s *Store) summary(conversationID string, c *Context) (covered extent, err error) {
	var id, content, meta string
	err = s.query(`SELECT record_id, content, metadata FROM entries WHERE conversation_id = ? AND kind = 'summary' ORDER BY id DESC LIMIT 1`,
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
	c.Summarised = &Summary{ID: id, Content: content, ThroughTurnID: m.ThroughTurnID,
		ThroughRecordID: m.ThroughRecordID, Turns: m.Turns}
	return covered, nil
}

// eachTurn gives the turns of a conversation that are not covered to use, the one that began last first, until it has
// had enough, and returns how many there are. Few are looked up at a time: a conversation may have very many.
func (s *Store) eachTurn(conversationID string, covered extent,
	use func(turn string) (more bool, err error)) (total int, err error) {
	if covered.last > 0 {
		turns, _, err := s.turns(`SELECT turn_id, first_entry FROM turn_extents WHERE conversation_id = ?1 AND first_entry > ?2
			UNION SELECT turn_id, first_entry FROM turn_extents WHERE conversation_id = ?1 AND last_entry > ?3 ORDER BY first_entry DESC`,
			conversationID, covered.first, covered.last)
		if err == nil {
			_, err = some(turns, use)
		}
		return len(turns), err
	}
	err = s.query(`SELECT turns FROM conversations WHERE id = ?`,
		func(st *sqlite3.Stmt) error { total = st.ColumnInt(0); return nil }, conversationID)
	for before, more := int64(math.MaxInt64), true; more && err == nil; {
		var turns []string
		turns, before, err = s.turns(`SELECT turn_id, first_entry FROM turn_extents WHERE conversation_id = ?1 AND first_entry < ?2
			ORDER BY first_entry DESC LIMIT 64`, conversationID, before)
		if len(turns) == 0 || err != nil {
			break
		}
		more, err = some(turns, use)
	}
	return total, err
}

// turns are those of a query, and the first entry of the last of them.
func (s *Store) turns(sql string, args ...any) (list []string, first int64, err error) {
	err = s.query(sql, func(st *sqlite3.Stmt) error {
		list, first = append(list, st.ColumnText(0)), st.ColumnInt64(1)
		return nil
	}, args...)
	return list, first, err
}

// some gives turns to use until it has had enough.
func some(turns []string, use func(turn string) (bool, error)) (more bool, err error) {
	for _, t := range turns {
		if more, err = use(t); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// reader takes turns, the newest first, until no more can be chosen.
type reader struct {
	budget conversation.Budget
	turns  []conversation.Turn
	bytes  int // of the turns as they are
	least  conversation.Budget
	empty  int
}

// take takes one turn and tells whether older ones may be needed. Results are shortened as soon as they cannot be sent
// whole.
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
	return !over(r.budget.Messages, r.least.Messages) && !over(r.budget.Tokens, r.least.Tokens) &&
		!over(r.budget.Bytes, r.least.Bytes)
}

// messagesOf makes the messages of one turn, of the kinds that a model is told.
func messagesOf(entries []Entry) []record.Message {
	var out []record.Message
	for _, e := range entries {
		switch {
		case !e.Kind.Is(record.Told):
		case e.Role == "tool":
			for _, r := range e.ToolResults {
				out = append(out, record.Message{Role: "tool", ToolCallID: r.ID, Content: e.Content,
					IsError: !r.Success})
			}
		default:
			out = append(out, record.Message{Role: e.Role, Content: e.Content, ToolCalls: e.ToolCalls,
				Original: e.original()})
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
