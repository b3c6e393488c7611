package memory

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// Keep stores a user, response, tool_result, final or summary record; others are ErrKind. When it returns nil the
// record is durable. The same record again is stored once; another record with its id is ErrConflict.
//
// Agent is the agent of the conversation, if the record begins one: "" means the record's own, or DefaultAgent. A
// record without conversation_id goes to Unfiled; one without turn_id joins its conversation's last turn, or begins one
// if it is a user message; one without an id gets one, and is stored each time.
//
// It returns the entry as it is stored, and whether it was stored now and not before. A user's message takes its
// conversation to the place, unless that has no directory.
func (s *Store) Keep(line record.Line, agent string, at Place) (Entry, bool, error) {
	e, own, err := entryOf(line)
	if err != nil {
		return e, false, fmt.Errorf("store %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.put(&e, cmp.Or(agent, own, DefaultAgent), at)
	if err != nil {
		return e, false, fmt.Errorf("store %s record %q in %s: %w", e.Kind, e.ID, s.path, err)
	}
	return e, stored, nil
}

func (s *Store) put(e *Entry, agent string, at Place) (stored bool, err error) {
	if err := s.registerFTS(); err != nil {
		return false, err
	}
	err = transaction(s.conn, func() error {
		if err := s.refuseDeleted(e); err != nil {
			return err
		}
		if stored, err = s.add(e, agent); err == nil && stored && e.Kind == record.KindUser {
			err = s.move(e.ConversationID, at)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if s.begun == nil || len(s.begun) >= maxBegun {
		s.begun = map[string]bool{}
	}
	s.begun[e.ConversationID] = true
	return stored, s.syncDirectory()
}

// maxBegun bounds what a Store remembers of the conversations that it has added to.
const maxBegun = 4096

// refuseDeleted refuses to continue what somebody else has deleted since this Store added to it: only a person's
// message begins it anew.
func (s *Store) refuseDeleted(e *Entry) error {
	if !s.begun[e.ConversationID] || e.Kind == record.KindUser {
		return nil
	}
	found := false
	err := s.query(`SELECT 1 FROM conversations WHERE id = ? AND last_entry <> 0`,
		func(*sqlite3.Stmt) error { found = true; return nil }, e.ConversationID)
	if err == nil && !found {
		err = ErrDeleted
	}
	return err
}

// add is put inside a transaction.
func (s *Store) add(e *Entry, agent string) (bool, error) {
	calls, results, err := encodeParts(e)
	if err != nil {
		return false, err
	}
	if err := s.place(e); err != nil {
		return false, err
	}
	return s.insert(e, agent, calls, results)
}

// place settles what depends on the entries before this one: its turn, and whether a final only repeats the answer.
func (s *Store) place(e *Entry) error {
	if e.TurnID == "" { // one that comes again is in the turn that it was in
		err := s.query(`SELECT turn_id FROM entries WHERE record_id = ?`,
			func(st *sqlite3.Stmt) error { e.TurnID = st.ColumnText(0); return nil }, e.ID)
		if err != nil {
			return err
		}
	}
	if e.TurnID == "" && e.Kind == record.KindUser {
		e.TurnID = e.ID
	}
	if e.TurnID == "" {
		e.TurnID = e.ID
		err := s.query(`SELECT turn_id FROM entries WHERE id = (SELECT last_entry FROM conversations WHERE id = ?)`,
			func(st *sqlite3.Stmt) error { e.TurnID = st.ColumnText(0); return nil }, e.ConversationID)
		if err != nil {
			return err
		}
	}
	if e.Kind != record.KindFinal || e.Content == "" {
		return nil
	}
	return s.query(`SELECT content = ? FROM entries WHERE conversation_id = ? AND turn_id = ? AND kind = 'response'
		ORDER BY id DESC LIMIT 1`, func(st *sqlite3.Stmt) error {
		if st.ColumnBool(0) {
			e.Content = ""
		}
		return nil
	}, e.Content, e.ConversationID, e.TurnID)
}

func (s *Store) insert(e *Entry, agent string, calls, results record.Raw) (bool, error) {
	err := s.query(`INSERT INTO conversations(id, agent, started_at, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, nil, e.ConversationID, agent, e.TS, e.TS)
	if err != nil {
		return false, fmt.Errorf("add conversation: %w", err)
	}
	var id int64
	err = s.query(`INSERT INTO entries(record_id, conversation_id, turn_id, ts, kind, role, content, tool_calls,
		tool_results, tool, provider, model, receipt_id, metadata, input_tokens, output_tokens)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT(record_id) DO NOTHING RETURNING id`,
		func(st *sqlite3.Stmt) error { id = st.ColumnInt64(0); return nil },
		e.ID, e.ConversationID, e.TurnID, e.TS, string(e.Kind), e.Role, e.Content, calls,
		results, e.Tool, e.Provider, e.Model, e.ReceiptID, e.Metadata, e.tokens(true), e.tokens(false))
	if err != nil {
		return false, err
	}
	if id == 0 {
		return false, s.compare(e, calls, results)
	}
	title := ""
	if e.Kind == record.KindUser {
		title = titleOf(e.Content)
	}
	return true, s.query(`UPDATE conversations SET last_entry = ?2, updated_at = max(updated_at, ?3),
		title = iif(title = '', ?4, title) WHERE id = ?1`, nil, e.ConversationID, id, e.TS, title)
}

// compare tells the same record from another one with its id. Turn, time and receipt do not count: a record may come
// again without them.
func (s *Store) compare(e *Entry, calls, results record.Raw) error {
	same := false
	err := s.query(`SELECT conversation_id, kind, content, tool_calls, tool_results FROM entries WHERE record_id = ?`,
		func(st *sqlite3.Stmt) error {
			same = st.ColumnText(0) == e.ConversationID && st.ColumnText(1) == string(e.Kind) &&
				st.ColumnText(2) == e.Content && st.ColumnText(3) == string(calls) &&
				st.ColumnText(4) == string(results)
			return nil
		}, e.ID)
	if err == nil && !same {
		err = ErrConflict
	}
	return err
}

func encodeParts(e *Entry) (calls, results record.Raw, err error) {
	var err1, err2 error
	if len(e.ToolCalls) > 0 {
		calls, err1 = record.Encode(e.ToolCalls)
	}
	if len(e.ToolResults) > 0 {
		results, err2 = record.Encode(e.ToolResults)
	}
	return calls, results, errors.Join(err1, err2)
}
