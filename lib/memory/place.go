package memory

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// Place is where a conversation is held: the workspace, and the session on a terminal (terminal.Session), empty without
// one.
type Place struct{ Directory, Terminal string }

func (s *Store) move(conversationID string, at Place) error {
	if at.Directory == "" {
		return nil
	}
	return s.query(`UPDATE conversations SET directory = ?2, terminal = ?3 WHERE id = ?1`, nil, conversationID,
		at.Directory, at.Terminal)
}

// LatestAt is Latest for a place: the conversation that was last continued in this session on the terminal, in this
// directory if there is one; else the one that was last continued in the directory. There, a person at a terminal and
// what runs without one, such as a cron job, never get each other's. Conversations of unknown places are nobody's.
func (s *Store) LatestAt(agent string, at Place) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := ""
	err := s.query(`SELECT iif(archived_at IS NULL, id, '') FROM conversations WHERE ?1 IN ('', agent) AND id <> ?2
		AND (terminal = ?4 AND ?4 <> '' OR directory = ?3 AND (terminal <> '') = (?4 <> ''))
		ORDER BY terminal = ?4 AND ?4 <> '' AND directory = ?3 DESC, terminal = ?4 AND ?4 <> '' DESC, last_entry DESC LIMIT 1`,
		func(st *sqlite3.Stmt) error { id = st.ColumnText(0); return nil }, agent, Unfiled, at.Directory, at.Terminal)
	if err != nil {
		return "", fmt.Errorf("find the latest conversation in %s: %w", s.path, err)
	}
	if id == "" {
		return "", notFound("start one by sending a message; --conversation ID continues any conversation",
			"conversation of this terminal or directory")
	}
	return id, nil
}
