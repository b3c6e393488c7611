package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/envelope"
)

// DeleteAlso removes conversations with their entries, and returns what they were. Ids are as for Resolve; one that is
// not found or ambiguous means that none is removed. Their bytes are gone from the file, from both indexes and from the
// log, as ClearAlso promises it. That takes as long as rewriting the file; other processes may read meanwhile, and
// write between its steps. If it is interrupted or fails behind the first step, the conversations are there without
// entries, to be deleted again. Receipts are not kept here, so they stay.
//
// It calls also when the conversations are gone and the file is not yet rewritten: to remove what is kept of them
// elsewhere. Also must not use the Store.
func (s *Store) DeleteAlso(also func() error, ids ...string) ([]Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.remove(ids)
	if err == nil {
		err = errors.Join(also(), s.scrub())
	}
	if err == nil {
		err = s.removeEmptied(list)
	}
	if err != nil {
		return list, fmt.Errorf("delete conversations from %s: %w", s.path, err)
	}
	return list, nil
}

func (s *Store) remove(ids []string) (list []Conversation, err error) {
	if err := s.registerFTS(); err != nil {
		return nil, err
	}
	err = s.freeing(func() error {
		list = nil
		for _, id := range ids {
			id, err := s.resolve(id)
			if err != nil {
				return err
			}
			conv, err := s.conversation(id)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(list, func(c Conversation) bool { return c.ID == id }) {
				return notFound("name each conversation once", "conversation %q, a second time", id)
			}
			list = append(list, *conv)
			delete(s.begun, id)
			// its row, without what was said, stays until no byte of the rest is left: who is interrupted can begin
			// anew
			if err := s.query(`DELETE FROM entries WHERE conversation_id = ?`, nil, id); err != nil {
				return err // it may have ended the transaction
			}
			if err := s.query(`UPDATE conversations SET title = '', last_entry = 0 WHERE id = ?`, nil, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// removeEmptied removes the rows of conversations that have been emptied, but for those to which somebody has added
// since.
func (s *Store) removeEmptied(list []Conversation) error {
	err := transaction(s.conn, func() error {
		for _, conv := range list {
			err := s.query(`DELETE FROM conversations WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE conversation_id = ?1)`, nil, conv.ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.cutLog()
	}
	return err
}

// scrub takes what was deleted out of all bytes of the file. An index notes only that a word is gone until its segments
// are merged; a page of a table may keep copies of rows that were moved from it, although freed space is overwritten;
// and so may the log. The index's own secure-delete would spare us the first, and make it unreadable for SQLite before
// 3.42.
func (s *Store) scrub() error {
	if err := s.closePrepared(); err != nil {
		return err
	}
	_ = s.cutLog() // it gives back room, and is done again in the end
	err := errors.Join(s.merge("entry_words"), s.merge("entry_trigrams"))
	if err == nil {
		err = s.conn.Exec(`VACUUM`)
	}
	if err = errors.Join(err, s.cutLog()); err != nil {
		return envelope.Errorf(envelope.ExitError, "memory.unfinished",
			"they are deleted, but the file was not rewritten, and bytes of them may remain: %w", err).
			WithHint("free disk space, or end the programs that read the memory; then delete again, or run claw-mem check --rebuild")
	}
	return nil
}

// freeing is a transaction that deletes. Where the disk has no room to overwrite what is deleted, that is left to
// scrub.
func (s *Store) freeing(f func() error) error {
	err := transaction(s.conn, f)
	if !full(err) {
		return err
	}
	err = errors.Join(s.closePrepared(), s.cutLog(), s.conn.Exec(`PRAGMA secure_delete=OFF`))
	if err == nil {
		err = errors.Join(transaction(s.conn, f), s.conn.Exec(`PRAGMA secure_delete=ON`))
	}
	if full(err) {
		return envelope.Errorf(envelope.ExitError, "memory.full", "the disk is full, and nothing was deleted: %w", err).
			WithHint("free space on the disk of %s; deleting needs some at first", s.path)
	}
	return err
}

// full tells whether a disk has no room. The driver takes that for a failure to write, and does not say of which kind.
func full(err error) bool { return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR_WRITE) }

// mergePages is how much of an index is merged in one transaction: others write in between.
const mergePages = 2000

// merge brings all segments of an index together into one (https://sqlite.org/fts5.html, 6.9).
func (s *Store) merge(index string) error {
	for pages := -mergePages; ; pages = mergePages {
		before := s.conn.TotalChanges()
		if err := s.conn.Exec(fmt.Sprintf(`INSERT INTO %[1]s(%[1]s, rank) VALUES ('merge', %d)`, index,
			pages)); err != nil {
			return fmt.Errorf("merge index %s: %w", index, err)
		}
		if s.conn.TotalChanges()-before < 2 {
			return nil
		}
	}
}

// cutLog folds the log into the file and makes it empty.
func (s *Store) cutLog() error {
	var blocked bool
	err := first(s.conn, `PRAGMA wal_checkpoint(TRUNCATE)`, func(st *sqlite3.Stmt) { blocked = st.ColumnBool(0) })
	if err == nil && blocked {
		err = errors.New("another process is reading it")
	}
	if err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return nil
}
