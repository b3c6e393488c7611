package memory

import "fmt"

// Record returns the one record of that id, as Show returns all of a conversation: with its conversation. There may be
// none: ErrNotFound.
func (s *Store) Record(id string) (*Conversation, []Entry, error) {
	s.mu.Lock()
	entries, err := s.entries(`WHERE record_id = ?`, id)
	s.mu.Unlock()
	if err != nil {
		return nil, nil, fmt.Errorf("look up record %q: %w", id, err)
	}
	if len(entries) == 0 {
		return nil, nil, notFound("list conversations with: claw-mem list", "record %q", id)
	}
	conv, _, err := s.Show(entries[0].ConversationID)
	return conv, entries, err
}
