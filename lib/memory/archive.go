package memory

import (
	"fmt"

	"clawsh/lib/record"
)

// Archive puts a conversation away, or takes it back: Latest is never one that is archived, everything else finds it as
// before. Id is as for Resolve. One that is archived already stays so since then.
func (s *Store) Archive(id string, away bool) (*Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.resolve(id)
	if err != nil {
		return nil, err
	}
	var conv *Conversation
	err = transaction(s.conn, func() (err error) {
		if away {
			err = s.query(`UPDATE conversations SET archived_at = coalesce(archived_at, ?2) WHERE id = ?1`, nil, id,
				record.Now())
		} else {
			err = s.query(`UPDATE conversations SET archived_at = NULL WHERE id = ?1`, nil, id)
		}
		if err == nil {
			conv, err = s.conversation(id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("archive conversation %s: %w", id, err)
	}
	return conv, nil
}
