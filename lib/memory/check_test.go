package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// harm changes the file as somebody with another program might.
func harm(t *testing.T, path, sql string) {
	t.Helper()
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := fts5.Register(conn); err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec(sql); err != nil {
		t.Fatal(err)
	}
}

// filled is a closed memory with two conversations, entries without content among them.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.sqlite")
	s := openAtPath(t, path)
	toolTurn(t, s, "conv-one", "1")
	toolTurn(t, s, "conv-two", "2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func problems(t *testing.T, path string, words bool) []string {
	t.Helper()
	s, err := Open(path, Options{ReadOnly: !words})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.Check()
	if err != nil {
		t.Fatal(err)
	}
	if words {
		more, err := s.CheckWords()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	var out []string
	for _, p := range list {
		out = append(out, p.What+": "+p.Message)
	}
	return out
}

func TestCheckFindsNothingInASoundFile(t *testing.T) {
	path := filled(t)
	if got := problems(t, path, false); got != nil {
		t.Errorf("%q", got)
	}
	if got := problems(t, path, true); got != nil {
		t.Errorf("words: %q", got)
	}
	s := openAtPath(t, path)
	if n, err := number(s.conn, `SELECT count(*) FROM entries`); n != 10 || err != nil {
		t.Errorf("%d entries after the check, %v", n, err)
	}
}

func TestCheckFindsAndRebuildMends(t *testing.T) {
	for name, c := range map[string]struct {
		harm, want string
		words      bool
	}{
		"trigger gone":      {`DROP TRIGGER entries_insert`, "schema: trigger entries_insert is missing", false},
		"trigger changed":   {`DROP TRIGGER entries_update; CREATE TRIGGER entries_update BEFORE UPDATE OF id ON entries BEGIN SELECT 1; END`, "schema: trigger entries_update is wrong", false},
		"foreign trigger":   {`CREATE TRIGGER spy AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE id < new.id; END`, "schema: trigger spy does not belong", false},
		"view gone":         {`DROP VIEW turns`, "schema: view turns is missing", false},
		"index gone":        {`DROP INDEX entries_turn`, "schema: index entries_turn is missing", false},
		"entry not indexed": {`DROP TRIGGER entries_insert; INSERT INTO entries(record_id, conversation_id, turn_id, ts, kind, role, content) VALUES ('x', 'conv-one', 't', '', 'user', 'user', 'unseen')`, "index: entry x is not in the index", false},
		"index of nothing": {`INSERT INTO entry_words(rowid, content) VALUES (77, 'ghost')`,
			"index: the index of words holds 77", false},
		"index structure":     {`DELETE FROM entry_words_data WHERE id > 100`, "file: ", false},
		"trigrams' structure": {`DELETE FROM entry_trigrams_data WHERE id > 100`, "file: ", false},
		"tokens": {`UPDATE entries SET input_tokens = 7 WHERE kind = 'response'`,
			"file: entry resp-1a: its tokens", false},
		// an old program was still writing
		"tokens missing": {`UPDATE entries SET output_tokens = NULL`, "file: entry resp-1a: its tokens", false},
		"last entry":     {`UPDATE conversations SET last_entry = 99`, "conversation: ", false},
		"other words":    {`DROP TRIGGER entries_update; UPDATE entries SET content = 'tampered with' WHERE record_id = 'user-1'`, "index: entry_words does not match the words", true},
		"other trigrams": {`INSERT INTO entry_trigrams(rowid, content) VALUES (1, 'ghost')`,
			"index: entry_trigrams does not match the words", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			harm(t, path, c.harm)
			got := problems(t, path, c.words)
			if !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, c.want) }) {
				t.Fatalf("found %q, want %q", got, c.want)
			}
			s := openAtPath(t, path)
			if err := s.Rebuild(); err != nil {
				t.Fatal(err)
			}
			s.Close()
			if got := problems(t, path, true); got != nil {
				t.Errorf("after the rebuild: %q", got)
			}
		})
	}
}

// A field that is to be JSON and is not keeps an entry from being shown or exported.
func TestCheckFindsFieldsThatCannotBeRead(t *testing.T) {
	for _, field := range []string{"metadata", "tool_calls", "tool_results"} {
		path := filled(t)
		harm(t, path, `UPDATE entries SET `+field+
			` = '{"half":' WHERE record_id = (SELECT min(record_id) FROM entries WHERE `+field+` IS NOT NULL)`)
		if got := problems(t, path, false); len(got) == 0 ||
			!strings.HasSuffix(got[0], ": its "+field+" cannot be read") {
			t.Errorf("%s: %q", field, got)
		}
	}
}

func TestCheckFindsWhatCannotBeMended(t *testing.T) {
	path := filled(t)
	harm(t, path, `PRAGMA foreign_keys=OFF; DELETE FROM conversations WHERE id = 'conv-one'`)
	if got := problems(t, path, false); len(got) == 0 || !strings.HasPrefix(got[0], "reference: ") {
		t.Errorf("orphans: %q", got)
	}
	path = filled(t)
	long := openAtPath(t, path)
	for i := range 40 {
		say(t, long, fmt.Sprint("long-", i), "conv-long", strings.Repeat("long ", 1000))
	}
	long.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := len(b)/4096 - 4; page < len(b)/4096; page++ {
		copy(b[page*4096:], fmt.Sprintf("%064d", page))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list, err := s.Check(); len(list) == 0 || err != nil {
		t.Errorf("a file of overwritten pages: %v, %v", list, err)
	}
}
