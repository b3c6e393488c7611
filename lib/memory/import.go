package memory

import (
	"cmp"
	"errors"
	"fmt"

	"clawsh/lib/record"
)

// Imported is what became of one record: which conversation it belongs to, and whether it was stored now or known
// already. Err is why it is not stored.
type Imported struct {
	ConversationID string
	Stored         bool
	Err            error
}

// Import stores records as Keep does, and conversation records, in one transaction; agent is for conversations for
// which no record names one. A record that cannot be stored does not keep the others from it. An error means that none
// is stored.
func (s *Store) Import(batch []record.Line, agent string) ([]Imported, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.registerFTS(); err != nil {
		return nil, err
	}
	var all []Imported
	err := transaction(s.conn, func() error {
		for _, line := range batch {
			one, err := s.importOne(line, agent)
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	if err == nil {
		err = s.syncDirectory()
	}
	if err != nil {
		return nil, fmt.Errorf("import into %s: %w", s.path, err)
	}
	return all, nil
}

// importOne leaves nothing behind of a record that it cannot store. Its error is one of the database, not of the
// record.
func (s *Store) importOne(line record.Line, agent string) (Imported, error) {
	if err := s.conn.Exec("SAVEPOINT one"); err != nil {
		return Imported{}, err
	}
	var one Imported
	if line.Kind() == record.KindConversation {
		one = s.importConversation(line)
	} else {
		e, own, err := entryOf(line)
		if err == nil {
			err = complete(line, &e)
		}
		one = Imported{ConversationID: e.ConversationID, Err: err}
		if err == nil {
			one.Stored, one.Err = s.add(&e, cmp.Or(own, agent, DefaultAgent))
		}
	}
	if one.Err == nil {
		return one, s.conn.Exec("RELEASE one")
	}
	if s.conn.GetAutocommit() { // a full disk has rolled everything back
		return one, one.Err
	}
	return one, errors.Join(s.conn.Exec("ROLLBACK TO one"), s.conn.Exec("RELEASE one"))
}

// complete refuses a record that no stage writes: it would be stored anew each time, or be none when it is exported.
func complete(line record.Line, e *Entry) error {
	switch {
	case line.ID() == "":
		return fmt.Errorf("%s record: no id", e.Kind)
	case e.Kind == record.KindUser && e.Content == "":
		return fmt.Errorf("user record %q: no content", e.ID)
	}
	return nil
}

func (s *Store) importConversation(line record.Line) Imported {
	var c record.Conversation
	if err := record.DecodeOpen(line.Bytes(), &c); err != nil {
		return Imported{Err: fmt.Errorf("conversation record: %w", err)}
	}
	if c.ConversationID == "" {
		return Imported{Err: errors.New("conversation record: no conversation_id")}
	}
	ts := timestamp(c.TS)
	var archived any
	if c.ArchivedAt != "" {
		archived = timestamp(c.ArchivedAt)
	}
	before := s.conn.TotalChanges()
	err := s.query(`INSERT INTO conversations(id, agent, started_at, updated_at, archived_at) VALUES (?1, ?2, ?3, ?3, ?4)
		ON CONFLICT DO UPDATE SET archived_at = ?4 WHERE archived_at IS NULL AND ?4 IS NOT NULL`, nil,
		c.ConversationID, cmp.Or(c.Agent, DefaultAgent), ts, archived)
	return Imported{ConversationID: c.ConversationID, Stored: s.conn.TotalChanges() > before, Err: err}
}
