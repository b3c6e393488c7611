package memory

// version4 adds what would have to be counted else: where the turns of a conversation lie, how many turns and entries
// it has, and what was used, by day and by conversation. Triggers keep them, whoever writes to entries; Check compares
// them with the entries, and Rebuild counts anew.
const version4 = `
ALTER TABLE conversations ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversations_last ON conversations(last_entry);
CREATE INDEX entries_summary ON entries(conversation_id) WHERE kind = 'summary';
CREATE TABLE turn_extents (
  conversation_id TEXT NOT NULL,
  turn_id         TEXT NOT NULL,
  first_entry     INTEGER NOT NULL,
  last_entry      INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, turn_id)
) WITHOUT ROWID;
CREATE INDEX turn_extents_first ON turn_extents(conversation_id, first_entry);
CREATE INDEX turn_extents_last ON turn_extents(conversation_id, last_entry);
CREATE TABLE usage_days (
  day           TEXT NOT NULL,
  provider      TEXT NOT NULL,
  model         TEXT NOT NULL,
  responses     INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  first_entry   INTEGER NOT NULL,
  PRIMARY KEY (day, provider, model)
) WITHOUT ROWID;
CREATE TABLE usage_conversations (
  conversation_id TEXT NOT NULL,
  provider        TEXT NOT NULL,
  model           TEXT NOT NULL,
  responses       INTEGER NOT NULL,
  input_tokens    INTEGER NOT NULL,
  output_tokens   INTEGER NOT NULL,
  first_entry     INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, provider, model)
) WITHOUT ROWID;` + countAll + `
CREATE TRIGGER turn_extents_insert AFTER INSERT ON turn_extents BEGIN
  UPDATE conversations SET turns = turns + 1 WHERE id = new.conversation_id;
END;
CREATE TRIGGER turn_extents_delete AFTER DELETE ON turn_extents BEGIN
  UPDATE conversations SET turns = turns - 1 WHERE id = old.conversation_id;
END;
CREATE TRIGGER entries_count AFTER INSERT ON entries BEGIN
  INSERT INTO turn_extents VALUES (new.conversation_id, new.turn_id, new.id, new.id)
    ON CONFLICT DO UPDATE SET first_entry = min(first_entry, new.id), last_entry = max(last_entry, new.id);
  UPDATE conversations SET entries = entries + 1 WHERE id = new.conversation_id;
END;
CREATE TRIGGER entries_used AFTER INSERT ON entries WHEN new.input_tokens IS NOT NULL BEGIN
  INSERT INTO usage_days VALUES (substr(new.ts, 1, 10), new.provider, new.model, 1, new.input_tokens, new.output_tokens, new.id)
    ON CONFLICT DO UPDATE SET responses = responses + 1, input_tokens = input_tokens + new.input_tokens,
      output_tokens = output_tokens + new.output_tokens;
  INSERT INTO usage_conversations VALUES (new.conversation_id, new.provider, new.model, 1, new.input_tokens, new.output_tokens, new.id)
    ON CONFLICT DO UPDATE SET responses = responses + 1, input_tokens = input_tokens + new.input_tokens,
      output_tokens = output_tokens + new.output_tokens;
END;
CREATE TRIGGER entries_uncount AFTER DELETE ON entries BEGIN
  DELETE FROM turn_extents WHERE conversation_id = old.conversation_id AND turn_id = old.turn_id AND first_entry = last_entry;
  UPDATE turn_extents SET
      first_entry = (SELECT min(id) FROM entries e WHERE e.conversation_id = old.conversation_id AND e.turn_id = old.turn_id),
      last_entry = (SELECT max(id) FROM entries e WHERE e.conversation_id = old.conversation_id AND e.turn_id = old.turn_id)
    WHERE conversation_id = old.conversation_id AND turn_id = old.turn_id AND old.id IN (first_entry, last_entry);
  UPDATE conversations SET entries = entries - 1 WHERE id = old.conversation_id;
END;
CREATE TRIGGER entries_unused AFTER DELETE ON entries WHEN old.input_tokens IS NOT NULL BEGIN
  UPDATE usage_days SET responses = responses - 1, input_tokens = input_tokens - old.input_tokens,
      output_tokens = output_tokens - old.output_tokens
    WHERE day = substr(old.ts, 1, 10) AND provider = old.provider AND model = old.model;
  DELETE FROM usage_days WHERE day = substr(old.ts, 1, 10) AND provider = old.provider AND model = old.model AND responses = 0;
  UPDATE usage_conversations SET responses = responses - 1, input_tokens = input_tokens - old.input_tokens,
      output_tokens = output_tokens - old.output_tokens
    WHERE conversation_id = old.conversation_id AND provider = old.provider AND model = old.model;
  DELETE FROM usage_conversations WHERE conversation_id = old.conversation_id AND provider = old.provider AND model = old.model
    AND responses = 0;
END;`

// totals are the tables that are counted from the entries.
var totals = []string{"turn_extents", "usage_days", "usage_conversations"}

// What the tables of version 4 hold, as the entries have it.
const (
	extents = `SELECT conversation_id, turn_id, min(id) AS first_entry, max(id) AS last_entry FROM entries GROUP BY conversation_id, turn_id`
	sums    = `count(*) AS responses, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, min(id) AS first_entry
  FROM entries WHERE input_tokens IS NOT NULL GROUP BY 1, 2, 3`
	usageDays          = `SELECT substr(ts, 1, 10) AS day, provider, model, ` + sums
	usageConversations = `SELECT conversation_id, provider, model, ` + sums
)

// countAll fills the tables of version 4, which are empty, before triggers keep them.
const countAll = `
INSERT INTO turn_extents ` + extents + `;
INSERT INTO usage_days ` + usageDays + `;
INSERT INTO usage_conversations ` + usageConversations + `;
` + countConversations

const countConversations = `UPDATE conversations SET
  turns = (SELECT count(*) FROM turn_extents t WHERE t.conversation_id = conversations.id),
  entries = (SELECT count(*) FROM entries e WHERE e.conversation_id = conversations.id);`

// miscounted are the questions of Check: what of the totals is not what the entries say. Which entry of some usage was
// the first is only for the order of rows, and stays when that is deleted.
var miscounted = []struct{ what, sql string }{
	{ProblemConversation, `SELECT 'conversation ' || id || ' does not know its turns and entries' FROM main.conversations c
		WHERE turns <> (SELECT count(DISTINCT turn_id) FROM main.entries e WHERE e.conversation_id = c.id)
		OR entries <> (SELECT count(*) FROM main.entries e WHERE e.conversation_id = c.id) LIMIT 20`},
	{ProblemConversation, `SELECT 'turn ' || turn_id || ' of conversation ' || conversation_id || ' lies elsewhere' FROM
		(SELECT * FROM (` + extents + `) EXCEPT SELECT * FROM main.turn_extents
		UNION ALL SELECT * FROM (SELECT * FROM main.turn_extents EXCEPT ` + extents + `)) LIMIT 20`},
	{ProblemConversation, `SELECT 'the usage of ' || day || ' is not the sum of what was used' FROM
		(SELECT day, provider, model, responses, input_tokens, output_tokens FROM (` + usageDays + `)
		EXCEPT SELECT day, provider, model, responses, input_tokens, output_tokens FROM main.usage_days
		UNION ALL SELECT * FROM (SELECT day, provider, model, responses, input_tokens, output_tokens FROM main.usage_days
		EXCEPT SELECT day, provider, model, responses, input_tokens, output_tokens FROM (` + usageDays + `))) LIMIT 20`},
	{ProblemConversation, `SELECT 'the usage of conversation ' || conversation_id || ' is not the sum of what was used' FROM
		(SELECT conversation_id, provider, model, responses, input_tokens, output_tokens FROM (` + usageConversations + `)
		EXCEPT SELECT conversation_id, provider, model, responses, input_tokens, output_tokens FROM main.usage_conversations
		UNION ALL SELECT * FROM (SELECT conversation_id, provider, model, responses, input_tokens, output_tokens FROM main.usage_conversations
		EXCEPT SELECT conversation_id, provider, model, responses, input_tokens, output_tokens FROM (` + usageConversations + `))) LIMIT 20`},
}
