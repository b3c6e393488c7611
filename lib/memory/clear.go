package memory

import (
	"errors"
	"fmt"
	"strings"
)

// ClearAlso deletes all entries and conversations and returns how many entries there were. Their bytes are gone from
// the file and from its log: pages are overwritten when freed, the file is rebuilt, the log is cut to nothing. If
// another process is reading all the while, the entries are deleted, but it fails and says that their bytes may remain;
// clear again. It calls also as DeleteAlso does.
func (s *Store) ClearAlso(also func() error) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err = s.clear(also); err != nil {
		return n, fmt.Errorf("clear memory %s: %w", s.path, err)
	}
	return n, nil
}

func (s *Store) clear(also func() error) (int, error) {
	if err := errors.Join(s.registerFTS(), s.closePrepared()); err != nil {
		return 0, err
	}
	var n int64
	err := s.freeing(func() (err error) {
		if n, err = number(s.conn, `SELECT count(*) FROM entries`); err != nil {
			return err
		}
		return s.conn.Exec(dropAll + strings.Join(steps(), ""))
	})
	if err != nil {
		return 0, err
	}
	s.begun = nil
	return int(n), errors.Join(also(), s.scrub())
}
