package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/envelope"
	"clawsh/lib/spelling"
)

// applicationID is "claw" in the file's header; schemaVersion is its user_version.
const (
	applicationID = 0x636c6177
	schemaVersion = 4
)

// version1 is the schema as it was first used. An entry's id is the order of arrival, which is what "newest first"
// means everywhere. A new file is made by the same steps that an old one is migrated by, so both are alike to the
// letter; docs/SCHEMAS.md shows the whole.
//
// entry_words finds whole words and keeps positions, for phrases. entry_trigrams finds substrings: it keeps only which
// entries hold which three letters (detail=none), at 60 % of the size of a full index; search.go checks each candidate
// against its content. Both read content from entries and are kept by triggers, so every writer must register FTS5.
const version1 = `
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

// version2 adds what a response used, which conversations are put away, and views for people.
const version2 = `
ALTER TABLE conversations ADD COLUMN archived_at TEXT;
ALTER TABLE entries ADD COLUMN input_tokens INTEGER;
ALTER TABLE entries ADD COLUMN output_tokens INTEGER;
UPDATE entries SET
  input_tokens = iif(json_valid(metadata), min(max(coalesce(CAST(json_extract(metadata, '$.usage.input_tokens') AS INTEGER), 0), 0), 1 << 40), 0),
  output_tokens = iif(json_valid(metadata), min(max(coalesce(CAST(json_extract(metadata, '$.usage.output_tokens') AS INTEGER), 0), 0), 1 << 40), 0)
  WHERE kind IN ('response', 'summary');
CREATE VIEW conversation_list AS
  SELECT c.id AS conversation_id, c.agent, c.title, c.started_at, c.updated_at, c.archived_at,
    count(DISTINCT e.turn_id) AS turns, count(e.id) AS entries,
    count(*) FILTER (WHERE e.kind = 'tool_result') AS tool_calls,
    coalesce(sum(e.input_tokens), 0) AS input_tokens, coalesce(sum(e.output_tokens), 0) AS output_tokens,
    group_concat(nullif(e.receipt_id, ''), ' ') AS receipt_ids
  FROM conversations c LEFT JOIN entries e ON e.conversation_id = c.id GROUP BY c.id ORDER BY c.last_entry DESC;
CREATE VIEW turns AS
  SELECT e.conversation_id, e.turn_id, min(e.ts) AS started_at, max(e.ts) AS ended_at,
    (SELECT u.content FROM entries u WHERE u.conversation_id = e.conversation_id AND u.turn_id = e.turn_id
      AND u.kind = 'user' ORDER BY u.id LIMIT 1) AS question,
    (SELECT a.content FROM entries a WHERE a.conversation_id = e.conversation_id AND a.turn_id = e.turn_id
      AND a.kind IN ('response', 'final') AND a.content <> '' ORDER BY a.id DESC LIMIT 1) AS answer,
    (SELECT json_extract(f.metadata, '$.stop_reason') FROM entries f WHERE f.conversation_id = e.conversation_id
      AND f.turn_id = e.turn_id AND f.kind = 'final' ORDER BY f.id DESC LIMIT 1) AS stop_reason,
    count(*) FILTER (WHERE e.kind = 'tool_result') AS tool_calls,
    coalesce(sum(e.input_tokens), 0) AS input_tokens, coalesce(sum(e.output_tokens), 0) AS output_tokens,
    group_concat(nullif(e.receipt_id, ''), ' ') AS receipt_ids
  FROM entries e GROUP BY e.conversation_id, e.turn_id ORDER BY min(e.id);
CREATE VIEW tool_calls AS
  SELECT r.conversation_id, r.turn_id, r.ts, r.record_id AS call_id, r.tool,
    json_extract(r.tool_results, '$[0].args') AS args, json_extract(r.tool_results, '$[0].status') AS status,
    json_extract(r.tool_results, '$[0].verdict.decision') AS decision, json_extract(r.tool_results, '$[0].verdict.risk') AS risk,
    json_extract(r.tool_results, '$[0].verdict.rule') AS rule, json_extract(r.tool_results, '$[0].verdict.approval') AS approval,
    r.content AS output, json_extract(r.tool_results, '$[0].error') AS error,
    json_extract(r.metadata, '$.duration_ms') AS duration_ms, nullif(r.receipt_id, '') AS receipt_id
  FROM entries r WHERE r.kind = 'tool_result'
  UNION ALL
  SELECT q.conversation_id, q.turn_id, q.ts, json_extract(j.value, '$.id'), json_extract(j.value, '$.name'),
    json_extract(j.value, '$.args'), 'unanswered', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM entries q, json_each(q.tool_calls) j WHERE q.kind = 'response' AND q.tool_calls IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.record_id = json_extract(j.value, '$.id'));
CREATE VIEW usage AS
  SELECT substr(e.ts, 1, 10) AS day, e.ts, e.conversation_id, e.turn_id, c.agent, e.provider, e.model,
    e.input_tokens, e.output_tokens
  FROM entries e JOIN conversations c ON c.id = e.conversation_id WHERE e.input_tokens IS NOT NULL;`

// version3 adds where a conversation was last continued: the workspace, and the session on a terminal, ” without one.
// NULL is not known.
const version3 = `
ALTER TABLE conversations ADD COLUMN directory TEXT;
ALTER TABLE conversations ADD COLUMN terminal TEXT;`

// dropAll undoes all versions.
const dropAll = `
DROP VIEW conversation_list;
DROP VIEW turns;
DROP VIEW tool_calls;
DROP VIEW usage;
DROP TABLE entry_words;
DROP TABLE entry_trigrams;
DROP TABLE entries;
DROP TABLE turn_extents;
DROP TABLE usage_days;
DROP TABLE usage_conversations;
DROP TABLE conversations;`

// inspect is check on one snapshot of the file: another process may be creating the schema at this moment.
func inspect(conn *sqlite3.Conn) (version int, err error) {
	if err := conn.Exec("BEGIN"); err != nil {
		return 0, err
	}
	version, err = check(conn)
	return version, errors.Join(err, conn.Exec("ROLLBACK"))
}

// check compares the file's header with ours and returns the version of its schema, 0 if it is blank. It reads two
// numbers and, only if they are zero, one count.
func check(conn *sqlite3.Conn) (int, error) {
	app, err := number(conn, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	version, err := number(conn, "PRAGMA user_version")
	switch {
	case err != nil:
		return 0, err
	case app == applicationID && 1 <= version && version <= schemaVersion:
		return int(version), nil
	case app == applicationID && version > schemaVersion:
		return 0, envelope.Errorf(envelope.ExitError, "newer_version", "schema version %d, this program knows %d: %w",
			version, schemaVersion, ErrNewer).WithHint("use the clawsh that wrote it, or a later one")
	case app != 0 || version != 0:
		return 0, fmt.Errorf("%w: application id %#x, version %d", ErrForeign, app, version)
	}
	tables, err := number(conn, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	if tables != 0 {
		return 0, fmt.Errorf("%w: it holds %s and indexes of something else", ErrForeign,
			spelling.Count(tables, "table"))
	}
	return 0, nil
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
