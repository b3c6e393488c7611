package memory

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

const conversationColumns = `SELECT id, agent, title, started_at, updated_at,
	turns, entries, coalesce(archived_at, ''), coalesce(directory, '') FROM conversations `

func scanConversation(st *sqlite3.Stmt) Conversation {
	return Conversation{ID: st.ColumnText(0), Agent: st.ColumnText(1), Title: st.ColumnText(2),
		StartedAt: st.ColumnText(3), UpdatedAt: st.ColumnText(4), Turns: st.ColumnInt(5), Entries: st.ColumnInt(6),
		ArchivedAt: st.ColumnText(7), Directory: st.ColumnText(8)}
}

// Conversations returns the conversations that were written to last, the last one first. Limit 0 or less means all.
func (s *Store) Conversations(limit int) ([]Conversation, error) { return s.list("", limit) }

// Listed is Conversations, either of those that are archived, or of the others.
func (s *Store) Listed(archived bool, limit int) ([]Conversation, error) {
	if archived {
		return s.list("WHERE archived_at IS NOT NULL ", limit)
	}
	return s.list("WHERE archived_at IS NULL ", limit)
}

func (s *Store) list(where string, limit int) ([]Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Conversation{}
	err := s.query(conversationColumns+where+`ORDER BY last_entry DESC LIMIT iif(?1 > 0, ?1, -1)`,
		func(st *sqlite3.Stmt) error {
			list = append(list, scanConversation(st))
			return nil
		}, limit)
	if err != nil {
		return nil, fmt.Errorf("list conversations in %s: %w", s.path, err)
	}
	return list, nil
}

// Latest returns the conversation that the agent's last record belongs to; with agent "", anybody's. Unfiled is never
// it. There may be none, or it may be archived, so that the next message begins a new one: ErrNotFound.
func (s *Store) Latest(agent string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := ""
	err := s.query(`SELECT iif(archived_at IS NULL, id, '') FROM conversations WHERE ?1 IN ('', agent) AND id <> ?2 ORDER BY last_entry DESC LIMIT 1`,
		func(st *sqlite3.Stmt) error { id = st.ColumnText(0); return nil }, agent, Unfiled)
	if err != nil {
		return "", fmt.Errorf("find the latest conversation in %s: %w", s.path, err)
	}
	if id == "" {
		return "", notFound("start one by sending a message", "latest conversation")
	}
	return id, nil
}

// minPrefix is how many bytes of an id Resolve takes for the whole, if no other id starts like that.
const minPrefix = 8

// Resolve returns the id of a conversation, given the id or at least 8 bytes of its beginning that no other shares
// (ErrAmbiguous). An id that is there in full is never ambiguous.
func (s *Store) Resolve(id string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resolve(id)
}

func (s *Store) resolve(id string) (string, error) {
	var found []string
	err := s.query(`SELECT id FROM conversations WHERE id >= ?1 AND (id = ?1 OR ?2 AND substr(id, 1, length(?1)) = ?1)
		AND id < ?1 || char(0x10ffff) ORDER BY id LIMIT 2`, func(st *sqlite3.Stmt) error {
		found = append(found, st.ColumnText(0))
		return nil
	}, id, boolInt(len(id) >= minPrefix))
	switch {
	case err != nil:
		return "", fmt.Errorf("look up conversation %q in %s: %w", id, s.path, err)
	case len(found) == 0:
		return "", notFound("list them with: claw-mem list", "conversation %q", id)
	case len(found) > 1 && found[0] != id:
		return "", envelope.Errorf(envelope.ExitError, "ambiguous", "conversation %q: %w", id, ErrAmbiguous).
			WithHint("give more of it: %s… or %s…", found[0], found[1])
	}
	return found[0], nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Show returns a conversation with all of its entries, in the order in which they came. Id is as for Resolve.
func (s *Store) Show(id string) (*Conversation, []Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.resolve(id)
	if err != nil {
		return nil, nil, err
	}
	conv, err := s.conversation(id)
	if err != nil {
		return nil, nil, fmt.Errorf("show conversation %s: %w", id, err)
	}
	entries, err := s.entries(`WHERE conversation_id = ? ORDER BY id`, id)
	if err != nil {
		return nil, nil, fmt.Errorf("show conversation %s: %w", id, err)
	}
	return conv, entries, nil
}

// conversation returns the conversation of exactly this id.
func (s *Store) conversation(id string) (*Conversation, error) {
	var conv *Conversation
	err := s.query(conversationColumns+`WHERE id = ?`, func(st *sqlite3.Stmt) error {
		c := scanConversation(st)
		conv = &c
		return nil
	}, id)
	if err == nil && conv == nil {
		err = notFound("list them with: claw-mem list", "conversation %q", id)
	}
	return conv, err
}

func (s *Store) entries(where string, args ...any) ([]Entry, error) {
	list := []Entry{}
	err := s.query(`SELECT record_id, conversation_id, turn_id, ts, kind, role, content, tool_calls, tool_results, tool,
		provider, model, receipt_id, metadata FROM entries `+where, func(st *sqlite3.Stmt) error {
		e, err := scanEntry(st)
		list = append(list, e)
		return err
	}, args...)
	return list, err
}

func scanEntry(st *sqlite3.Stmt) (Entry, error) {
	e := Entry{ID: st.ColumnText(0), ConversationID: st.ColumnText(1), TurnID: st.ColumnText(2), TS: st.ColumnText(3),
		Kind: record.Kind(st.ColumnText(4)), Role: st.ColumnText(5), Content: st.ColumnText(6), Tool: st.ColumnText(9),
		Provider: st.ColumnText(10), Model: st.ColumnText(11), ReceiptID: st.ColumnText(12)}
	if meta := st.ColumnText(13); meta != "" {
		e.Metadata = record.Raw(meta)
	}
	if raw := st.ColumnRawText(7); len(raw) > 0 {
		if err := record.DecodeOpen(raw, &e.ToolCalls); err != nil {
			return e, fmt.Errorf("tool calls of record %q: %w", e.ID, err)
		}
	}
	if raw := st.ColumnRawText(8); len(raw) > 0 {
		if err := record.DecodeOpen(raw, &e.ToolResults); err != nil {
			return e, fmt.Errorf("tool results of record %q: %w", e.ID, err)
		}
	}
	return e, nil
}
