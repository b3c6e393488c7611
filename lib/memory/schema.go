package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/envelope"
)

// applicationID is "claw" in the file's header; schemaVersion is its user_version.
const (
	applicationID = 0x636c6177
	schemaVersion = 1
)

// schema is version 1. An entry's id is the order of arrival, which is what "newest first" means everywhere.
//
// entry_words finds whole words and keeps positions, for phrases. entry_trigrams finds substrings: it keeps only which
// entries hold which three letters (detail=none), at 60 % of the size of a full index; search.go checks each candidate
// against its content. Both read content from entries and are kept by triggers, so every writer must register FTS5.
const schema = `
CREATE TABLE conversations (
  id         TEXT PRIMARY KEY,
  agent      TEXT NOT NULL,
  title      TEXT NOT NULL DEFAULT '',
  started_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  last_entry INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE entries (
  id              INTEGER PRIMARY KEY,
  record_id       TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversations(id),
  turn_id         TEXT NOT NULL,
  ts              TEXT NOT NULL,
  kind            TEXT NOT NULL,
  role            TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  content         TEXT NOT NULL,
  tool_calls      TEXT,
  tool_results    TEXT,
  tool            TEXT NOT NULL DEFAULT '',
  provider        TEXT NOT NULL DEFAULT '',
  model           TEXT NOT NULL DEFAULT '',
  receipt_id      TEXT NOT NULL DEFAULT '',
  metadata        TEXT
);
CREATE INDEX entries_turn ON entries(conversation_id, turn_id);
CREATE VIRTUAL TABLE entry_words USING fts5(content, content='entries', content_rowid='id',
  tokenize='unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE entry_trigrams USING fts5(content, content='entries', content_rowid='id',
  tokenize='trigram', detail=none, columnsize=0);
CREATE TRIGGER entries_insert AFTER INSERT ON entries WHEN new.content <> '' BEGIN
  INSERT INTO entry_words(rowid, content) VALUES (new.id, new.content);
  INSERT INTO entry_trigrams(rowid, content) VALUES (new.id, new.content);
END;
CREATE TRIGGER entries_delete AFTER DELETE ON entries WHEN old.content <> '' BEGIN
  INSERT INTO entry_words(entry_words, rowid, content) VALUES ('delete', old.id, old.content);
  INSERT INTO entry_trigrams(entry_trigrams, rowid, content) VALUES ('delete', old.id, old.content);
END;
CREATE TRIGGER entries_update BEFORE UPDATE OF id, content ON entries BEGIN
  SELECT raise(ABORT, 'entries are never changed');
END;`

// dropAll undoes schema.
const dropAll = `
DROP TABLE entry_words;
DROP TABLE entry_trigrams;
DROP TABLE entries;
DROP TABLE conversations;`

// inspect is check on one snapshot of the file: another process may be creating the schema at this moment.
func inspect(conn *sqlite3.Conn) (blank bool, err error) {
	if err := conn.Exec("BEGIN"); err != nil {
		return false, err
	}
	blank, err = check(conn)
	return blank, errors.Join(err, conn.Exec("ROLLBACK"))
}

// check compares the file's header with ours. It reads two numbers and, only if they are zero, one count.
func check(conn *sqlite3.Conn) (blank bool, err error) {
	app, err := number(conn, "PRAGMA application_id")
	if err != nil {
		return false, err
	}
	version, err := number(conn, "PRAGMA user_version")
	switch {
	case err != nil:
		return false, err
	case app == applicationID && version == schemaVersion:
		return false, nil
	case app == applicationID && version > schemaVersion:
		return false, envelope.Errorf(envelope.ExitError, "newer_version", "schema version %d, this program knows %d: %w",
			version, schemaVersion, ErrNewer).WithHint("use the clawsh that wrote it, or a later one")
	case app != 0 || version != 0:
		return false, fmt.Errorf("%w: application id %#x, version %d", ErrForeign, app, version)
	}
	tables, err := number(conn, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return false, err
	}
	if tables != 0 {
		return false, fmt.Errorf("%w: it holds %d tables and indexes of something else", ErrForeign, tables)
	}
	return true, nil
}

// create makes the schema in a blank file. Several processes may do so at once: one does, the others find it done. A
// crash leaves a blank file in WAL mode, which the next writer fills.
func create(conn *sqlite3.Conn) error {
	return transaction(conn, func() error {
		blank, err := check(conn)
		if err != nil || !blank {
			return err
		}
		return conn.Exec(schema + fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, schemaVersion))
	})
}

// useWAL puts the file in WAL mode, which stays with the file. SQLite does not wait for other processes here, so we do.
func useWAL(conn *sqlite3.Conn, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; time.Sleep(2 * time.Millisecond) {
		mode, err := word(conn, "PRAGMA journal_mode=WAL")
		if err == nil && mode == "wal" {
			return nil
		}
		if err == nil {
			return fmt.Errorf("switch to a write-ahead log: the file stays in mode %q", mode)
		}
		if !busy(err) || time.Now().After(deadline) {
			return fmt.Errorf("switch to a write-ahead log: %w", err)
		}
	}
}
