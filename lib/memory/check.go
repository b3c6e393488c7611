package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// Kinds of Problem.
const (
	// a page or a record of SQLite's, an index's own structure, or a field of an entry
	ProblemFile         = "file"
	ProblemReference    = "reference"    // an entry without its conversation
	ProblemSchema       = "schema"       // a table, index, trigger or view is missing, changed or not ours
	ProblemIndex        = "index"        // a search index lacks entries, or holds others
	ProblemConversation = "conversation" // a conversation's own row contradicts its entries
	ProblemMirror       = "mirror"       // a session's mirror differs from the memory
)

// Problem is something that is wrong with a memory. Rebuilt tells that Rebuild, or for a mirror Mirror.Rewrite, mended
// it. Lag tells that it is not damage: a mirror lacks its last lines, as a process leaves it that was killed.
type Problem struct {
	What           string `json:"what"`
	ConversationID string `json:"conversation_id,omitzero"`
	Message        string `json:"message"`
	Rebuilt        bool   `json:"rebuilt,omitzero"`
	Lag            bool   `json:"lag,omitzero"`
}

// maxProblems bounds the problems of one kind.
const maxProblems = 20

// Check looks at the whole file, without changing it and without keeping anybody from writing: SQLite's
// integrity_check, which includes the inner structure of both indexes, references, the schema, and whether the index of
// words has all entries and no others. It does not compare words with contents: CheckWords does. An error means that it
// could not look.
func (s *Store) Check() ([]Problem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.registerFTS(); err != nil {
		return nil, err
	}
	var list []Problem
	for _, check := range []struct{ what, sql string }{
		{ProblemFile, `PRAGMA main.integrity_check(20)`},
		{ProblemReference,
			`SELECT 'row ' || rowid || ' of ' || "table" || ' refers to no ' || parent FROM pragma_foreign_key_check LIMIT 20`},
		{ProblemIndex, `SELECT 'entry ' || record_id || ' is not in the index of words' FROM main.entries e
			WHERE content <> '' AND NOT EXISTS (SELECT 1 FROM entry_words_docsize d WHERE d.id = e.id) LIMIT 20`},
		{ProblemIndex, `SELECT 'the index of words holds ' || d.id || ', which is no entry' FROM entry_words_docsize d
			WHERE NOT EXISTS (SELECT 1 FROM main.entries e WHERE e.id = d.id) LIMIT 20`},
		{ProblemFile, `SELECT 'entry ' || record_id || ': its ' || iif(NOT json_valid(coalesce(metadata, '{}')), 'metadata', iif(NOT json_valid(coalesce(tool_calls, '{}')),
			'tool_calls', 'tool_results')) || ' cannot be read' FROM entries WHERE NOT json_valid(coalesce(metadata, '{}'))
			OR NOT json_valid(coalesce(tool_calls, '{}')) OR NOT json_valid(coalesce(tool_results, '{}')) LIMIT 20`},
		{ProblemFile, `SELECT 'entry ' || record_id || ': its tokens are not what it used' FROM entries
			WHERE input_tokens IS NOT ` + used("input_tokens") + ` OR output_tokens IS NOT ` + used("output_tokens") + ` LIMIT 20`},
		{ProblemConversation, `SELECT 'conversation ' || id || ' does not know its last entry' FROM main.conversations c
			WHERE last_entry <> coalesce((SELECT max(e.id) FROM main.entries e WHERE e.conversation_id = c.id), 0) LIMIT 20`},
	} {
		found, err := s.ask(check.what, check.sql)
		if err != nil {
			return list, fmt.Errorf("check %s: %w", s.path, err)
		}
		list = append(list, found...)
	}
	counted, err := s.checkTotals()
	if err != nil {
		return list, fmt.Errorf("check %s: %w", s.path, err)
	}
	list = append(list, counted...)
	changed, err := s.checkSchema()
	if err != nil {
		return list, fmt.Errorf("check %s: %w", s.path, err)
	}
	return append(list, changed...), nil
}

// checkTotals compares the totals with the entries, in a file that has them.
func (s *Store) checkTotals() (list []Problem, err error) {
	if version, err := check(s.conn); err != nil || version < 4 {
		return nil, err
	}
	for _, check := range miscounted {
		found, err := s.ask(check.what, check.sql)
		if err != nil {
			return list, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// used is what the tokens of an entry are by its metadata, as countable counts them.
func used(tokens string) string {
	return `iif(kind IN ('response', 'summary'), iif(json_valid(metadata), min(max(coalesce(CAST(json_extract(metadata, '$.usage.` + tokens + `') AS INTEGER), 0), 0), 1 << 40), 0), NULL)`
}

// ask makes a problem of each row of text. That the file is too damaged to be asked is a problem, too.
func (s *Store) ask(what, sql string) (list []Problem, err error) {
	st, _, err := s.conn.Prepare(sql)
	if err == nil {
		for st.Step() && len(list) < maxProblems {
			if message := st.ColumnText(0); message != "ok" {
				list = append(list, Problem{What: what, Message: message})
			}
		}
		err = errors.Join(st.Err(), st.Close())
	}
	if err == nil || busy(err) || errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.IOERR) ||
		errors.Is(err, sqlite3.NOMEM) {
		return list, err
	}
	return append(list, Problem{What: what, Message: err.Error()}), nil
}

// object is a table, index, trigger or view, by type and name.
type object struct{ kind, name string }

// checkSchema compares the schema with that of a new file.
func (s *Store) checkSchema() ([]Problem, error) {
	version, err := check(s.conn)
	if err != nil {
		return nil, err
	}
	want, err := reference(version)
	if err != nil {
		return nil, err
	}
	got, err := objects(s.conn)
	if err != nil {
		return nil, err
	}
	var list []Problem
	for o, sql := range want {
		if now, ok := got[o]; !ok {
			list = append(list, Problem{What: ProblemSchema, Message: fmt.Sprintf("%s %s is missing", o.kind, o.name)})
		} else if now != sql {
			list = append(list, Problem{What: ProblemSchema, Message: fmt.Sprintf("%s %s is wrong", o.kind, o.name)})
		}
	}
	for o := range got {
		if _, ok := want[o]; !ok {
			list = append(list, Problem{What: ProblemSchema,
				Message: fmt.Sprintf("%s %s does not belong here", o.kind, o.name)})
		}
	}
	slices.SortFunc(list, func(a, b Problem) int { return strings.Compare(a.Message, b.Message) })
	return list, nil
}

// reference is the schema of a new file of a version.
func reference(version int) (_ map[object]string, err error) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := fts5.Register(conn); err != nil {
		return nil, err
	}
	if err := conn.Exec(strings.Join(steps()[:version], "")); err != nil {
		return nil, err
	}
	return objects(conn)
}

// objects are what somebody made: what SQLite makes by itself, for statistics or constraints, does not count.
func objects(conn *sqlite3.Conn) (map[object]string, error) {
	st, _, err := conn.Prepare(`SELECT type, name, sql FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	all := map[object]string{}
	for st.Step() {
		all[object{st.ColumnText(0), st.ColumnText(1)}] = st.ColumnText(2)
	}
	return all, st.Err()
}

// CheckWords compares both indexes, word by word, with the contents of all entries. Others may read meanwhile, and have
// to wait to write.
func (s *Store) CheckWords() ([]Problem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.registerFTS(); err != nil {
		return nil, err
	}
	var list []Problem
	err := transaction(s.conn, func() error {
		// The index compares itself with all rows, and what is empty is not indexed. Nothing of this stays.
		if err := s.conn.Exec(`DELETE FROM entries WHERE content = ''`); err != nil {
			return err
		}
		for _, index := range []string{"entry_words", "entry_trigrams"} {
			found, err := s.ask(ProblemIndex,
				fmt.Sprintf(`INSERT INTO %[1]s(%[1]s, rank) VALUES ('integrity-check', 1)`, index))
			if err != nil {
				return err
			}
			for i := range found {
				found[i].Message = fmt.Sprintf("%s does not match the words of the entries: %s", index,
					found[i].Message)
			}
			list = append(list, found...)
		}
		return errStop
	})
	if !errors.Is(err, errStop) {
		return list, fmt.Errorf("check the indexes of %s: %w", s.path, err)
	}
	return list, nil
}

// Rebuild makes indexes, triggers and views anew from the entries, what conversations say of their entries, and the
// tokens that are counted. Entries themselves cannot be mended. Like Delete, it leaves no byte of what was deleted
// before.
func (s *Store) Rebuild() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.registerFTS(), s.closePrepared())
	if err == nil {
		err = transaction(s.conn, s.rebuild)
	}
	if err == nil {
		err = s.scrub()
	}
	if err != nil {
		return fmt.Errorf("rebuild %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) rebuild() error {
	want, err := reference(schemaVersion)
	if err != nil {
		return err
	}
	got, err := objects(s.conn)
	if err != nil {
		return err
	}
	for o := range got {
		if o.kind == "trigger" || o.kind == "view" {
			if err := s.conn.Exec(fmt.Sprintf("DROP %s %s", o.kind, sqlite3.QuoteIdentifier(o.name))); err != nil {
				return err
			}
		}
	}
	if err := s.conn.Exec(`DROP TABLE IF EXISTS entry_words; DROP TABLE IF EXISTS entry_trigrams;`); err != nil {
		return err
	}
	for _, kind := range []string{"table", "index", "view", "trigger"} {
		for o, sql := range want {
			_, there := got[o]
			virtual := strings.HasPrefix(sql, "CREATE VIRTUAL")
			counted := slices.Contains(totals, o.name) && !there
			if o.kind != kind || sql == "" || kind == "index" && there || kind == "table" && !virtual && !counted {
				continue
			}
			if err := s.conn.Exec(sql); err != nil {
				return fmt.Errorf("make %s %s: %w", o.kind, o.name, err)
			}
		}
	}
	return s.conn.Exec(`
		INSERT INTO entry_words(rowid, content) SELECT id, content FROM entries WHERE content <> '';
		INSERT INTO entry_trigrams(rowid, content) SELECT id, content FROM entries WHERE content <> '';
		UPDATE entries SET input_tokens = ` + used("input_tokens") + `, output_tokens = ` + used("output_tokens") + `
			WHERE input_tokens IS NOT ` + used("input_tokens") + ` OR output_tokens IS NOT ` + used("output_tokens") + `;
		UPDATE conversations SET last_entry = coalesce((SELECT max(e.id) FROM entries e WHERE e.conversation_id = conversations.id), 0);
		DELETE FROM turn_extents; DELETE FROM usage_days; DELETE FROM usage_conversations;` + countAll + `
		REINDEX;`)
}
