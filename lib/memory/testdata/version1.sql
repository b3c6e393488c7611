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
END;
PRAGMA application_id=0x636c6177;
PRAGMA user_version=1;
INSERT INTO conversations VALUES ('conv-old1', 'ops', 'list files', '2026-05-12T14:00:00.000Z', '2026-05-12T14:00:04.000Z', 5);
INSERT INTO conversations VALUES ('conv-unfiled', 'default', 'loose', '2026-05-12T15:00:00.000Z', '2026-05-12T15:00:00.000Z', 7);
INSERT INTO entries VALUES (1, 'msg-1', 'conv-old1', 'turn-1', '2026-05-12T14:00:00.000Z', 'user', 'user', 'list files', NULL, NULL, '', '', '', '', NULL);
INSERT INTO entries VALUES (2, 'resp-1', 'conv-old1', 'turn-1', '2026-05-12T14:00:01.000Z', 'response', 'assistant', '', '[{"id":"call-1","name":"file_list","args":{"path":"."}}]', NULL, '', 'local', 'mock', '', '{"request_id":"req-1","finish_reason":"tool_calls","usage":{"input_tokens":11,"output_tokens":5}}');
INSERT INTO entries VALUES (3, 'call-1', 'conv-old1', 'turn-1', '2026-05-12T14:00:02.000Z', 'tool_result', 'tool', 'out
broken', NULL, '[{"id":"call-1","tool":"file_list","args":{"path":"."},"status":"failed","success":false,"output_bytes":4,"error":"broken"}]', 'file_list', '', '', 'receipt-1', '{"duration_ms":3,"truncated":false}');
INSERT INTO entries VALUES (4, 'resp-2', 'conv-old1', 'turn-1', '2026-05-12T14:00:03.000Z', 'response', 'assistant', 'one file', NULL, NULL, '', 'local', 'mock', '', '{"request_id":"req-2","finish_reason":"stop","usage":{"input_tokens":20,"output_tokens":3}}');
INSERT INTO entries VALUES (5, 'final-1', 'conv-old1', 'turn-1', '2026-05-12T14:00:04.000Z', 'final', 'assistant', '', NULL, NULL, '', 'local', 'mock', '', '{"stop_reason":"final_text","rounds":1,"usage":{"input_tokens":31,"output_tokens":8},"receipts":["receipt-1"]}');
INSERT INTO entries VALUES (6, 'resp-3', 'conv-unfiled', 'turn-2', '2026-05-12T15:00:00.000Z', 'response', 'assistant', 'no metadata', NULL, NULL, '', 'local', 'mock', '', NULL);
INSERT INTO entries VALUES (7, 'resp-4', 'conv-unfiled', 'turn-2', '2026-05-12T15:00:00.000Z', 'response', 'assistant', 'odd metadata', NULL, NULL, '', 'local', 'mock', '', '{"usage":');
