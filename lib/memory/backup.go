package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"clawsh/lib/envelope"
)

// Backup writes the memory as it is at this moment to the file at path, which must be there and empty, syncs it, and
// checks what is in it then. Others may read and write meanwhile. No other file is made: VACUUM INTO would need one
// beside it.
func (s *Store) Backup(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.copyTo(path)
	if err == nil {
		err = syncFile(path)
	}
	if err == nil {
		err = verifyCopy(path)
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", s.path, err)
	}
	return nil
}

// copyTo copies all pages in one step, so it is not begun anew when somebody writes. The copy is synced when it is
// whole.
func (s *Store) copyTo(path string) (err error) {
	if s.conn == nil {
		return fs.ErrClosed
	}
	uri := url.URL{Scheme: "file", Path: path}
	conn, err := sqlite3.OpenFlags(uri.String(), sqlite3.OPEN_URI|sqlite3.OPEN_READWRITE|sqlite3.OPEN_NOFOLLOW)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.Exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF`); err != nil {
		return err
	}
	return conn.Restore("main", s.uri)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// verifyCopy checks the file's structure and that it is ours. Nobody else has it open.
func verifyCopy(path string) (err error) {
	uri := url.URL{Scheme: "file", Path: path, RawQuery: "immutable=1"}
	conn, err := sqlite3.OpenFlags(uri.String(), sqlite3.OPEN_URI|sqlite3.OPEN_READONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := fts5.Register(conn); err != nil {
		return err
	}
	version, err := check(conn)
	if err == nil && version == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("check the copy: %w", err)
	}
	result, err := word(conn, `PRAGMA quick_check(1)`)
	if err == nil && result != "ok" {
		err = envelope.Errorf(envelope.ExitError, "memory.damaged", "the memory is damaged, and so is the copy: %s",
			result).
			WithHint("to see what is wrong, run: claw-mem check")
	}
	return err
}
