package memory

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/conversation"
)

// many makes a memory of turns of three entries each, in conversations of so many turns.
func many(t testing.TB, turns, each int) *Store {
	t.Helper()
	s := openTemp(t)
	if err := s.registerFTS(); err != nil {
		t.Fatal(err)
	}
	err := s.conn.Exec(fmt.Sprintf(`BEGIN;
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d / %[2]d)
		INSERT INTO conversations(id, agent, started_at, updated_at, last_entry) SELECT 'conv-' || i, 'default', '2026-05-12T14:00:00.000Z',
			'2026-05-12T14:00:00.000Z', min(3 * %[2]d * (i + 1), 3 * %[1]d) FROM n;
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3 * %[1]d - 1)
		INSERT INTO entries(record_id, conversation_id, turn_id, ts, kind, role, content, provider, model, metadata, input_tokens, output_tokens)
		SELECT 'rec-' || i, 'conv-' || (i / 3 / %[2]d), 'turn-' || (i / 3), strftime('%%Y-%%m-%%dT%%H:%%M:%%S.000Z', 1770000000 + i * 600, 'unixepoch'),
			iif(i %% 3 = 0, 'user', iif(i %% 3 = 1, 'response', 'final')), iif(i %% 3 = 0, 'user', 'assistant'), iif(i %% 3 = 2, '', 'text'),
			iif(i %% 3 = 0, '', 'local'), iif(i %% 3 = 0, '', 'mock'), iif(i %% 3 = 1, '{"usage":{"input_tokens":100,"output_tokens":20}}', NULL),
			iif(i %% 3 = 1, 100, NULL), iif(i %% 3 = 1, 20, NULL) FROM n;
		COMMIT`, turns, each))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// steps are the instructions of SQLite's that a question takes.
func stepsOf(t *testing.T, s *Store, ask func() error) (n int) {
	t.Helper()
	if err := s.closePrepared(); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	for _, st := range s.prepared {
		n += st.Status(sqlite3.STMTSTATUS_VM_STEP, false)
	}
	return n
}

// What is asked in every turn, and what people ask most, takes no longer on a large memory.
func TestQuestionsAreFlat(t *testing.T) {
	questions := map[string]func(s *Store) error{
		"list":   func(s *Store) error { _, err := s.Listed(false, 50); return err },
		"latest": func(s *Store) error { _, err := s.Latest("default"); return err },
		"context": func(s *Store) error {
			_,
				err := s.Context("conv-0", conversation.Budget{Messages: 40})
			return err
		},
		"one": func(s *Store) error { _, err := s.conversation("conv-0"); return err },
	}
	for _, each := range []int{10, 4000} {
		small, large := many(t, 1000, min(each, 500)), many(t, 16000, each)
		for what, ask := range questions {
			a, b := stepsOf(t, small, func() error { return ask(small) }),
				stepsOf(t, large, func() error { return ask(large) })
			if b > 3*a/2+100 {
				t.Errorf("%s of turns of conversations of %d: %d instructions, %d on a small memory", what, each, b, a)
			}
		}
		for _, o := range []UsageOptions{{By: "day"}, {By: "model"},
			{By: "provider", Since: "2026-02-10T11:12:13.000Z"},
			{By: "day", Since: "2026-02-10T11:12:13.000Z", Until: "2026-02-12T11:12:13.000Z"}} {
			days := stepsOf(t, large, func() error { _, err := large.Usage(o); return err })
			if days > 100*340+20_000 { // there are 334 days
				t.Errorf("usage %+v: %d instructions", o, days)
			}
		}
	}
}

// The totals are what the entries say, whatever was stored and deleted, in whatever order.
func TestTotalsAreTheSums(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := openTemp(t)
		for i := range 200 {
			conv, turn := fmt.Sprintf("conv-%d", r.IntN(6)), fmt.Sprintf("turn-%d", r.IntN(30))
			at := fmt.Sprintf(`"ts":"2026-05-%02dT%02d:00:00.000Z",`, 1+r.IntN(4), r.IntN(24))
			switch r.IntN(6) {
			case 0:
				put(t, s, "user", fmt.Sprint("u", i), conv, turn, at+`"content":"x"`)
			case 1:
				put(t, s, "summary", fmt.Sprint("s", i), conv, turn,
					at+`"content":"x","through_turn_id":"turn-1","through_record_id":"u1","turns":1,"usage":{"input_tokens":3,"output_tokens":1}`)
			default:
				put(t, s, "response", fmt.Sprint("r", i), conv, turn,
					at+fmt.Sprintf(`"provider":"p%d","model":"m%d","final_text":"a","tool_calls":[],"usage":{"input_tokens":%d,"output_tokens":5}`, r.IntN(2), r.IntN(2), i))
			}
			if list, _ := s.Conversations(0); i%50 == 49 && len(list) > 0 {
				if _, err := s.Delete(list[r.IntN(len(list))].ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if found, err := s.Check(); err != nil || len(found) != 0 {
			t.Errorf("seed %d: %v %v", seed, found, err)
		}
		for range 60 {
			o := UsageOptions{By: UsageKeys()[r.IntN(5)]}
			at := func() string {
				return []string{"", fmt.Sprintf("2026-05-%02dT00:00:00.000Z", 1+r.IntN(5)),
					fmt.Sprintf("2026-05-%02dT%02d:30:00.000Z", 1+r.IntN(5), r.IntN(24))}[r.IntN(3)]
			}
			o.Since, o.Until = at(), at()
			sameUsage(t, s, o)
		}
	}
}

// sameUsage compares an answer with the sum over all responses.
func sameUsage(t *testing.T, s *Store, o UsageOptions) {
	t.Helper()
	got, err := s.Usage(o)
	if err != nil {
		t.Fatal(err)
	}
	var want []Usage
	err = s.query(`SELECT iif(?1 = 'day', substr(ts, 1, 10), '') AS day, iif(?1 IN ('turn', 'conversation'), conversation_id, '') AS conversation,
		iif(?1 = 'turn', turn_id, '') AS turn, provider, model, count(*), sum(input_tokens), sum(output_tokens)
		FROM entries WHERE input_tokens IS NOT NULL AND (?2 = '' OR ts >= ?2) AND (?3 = '' OR ts < ?3) GROUP BY 1, 2, 3, 4, 5`,
		func(st *sqlite3.Stmt) error {
			want = append(want, Usage{Day: st.ColumnText(0), ConversationID: st.ColumnText(1), TurnID: st.ColumnText(2),
				Provider: st.ColumnText(3),
				Model:    st.ColumnText(4), Responses: st.ColumnInt(5), InputTokens: st.ColumnInt64(6),
				OutputTokens: st.ColumnInt64(7)})
			return nil
		}, o.By, o.Since, o.Until)
	if err != nil {
		t.Fatal(err)
	}
	order := func(a, b Usage) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%+v:\n%+v, want\n%+v", o, got, want)
	}
}

// Whatever is wrong with the totals is found, and counted anew.
func TestWrongTotalsAreFoundAndCountedAnew(t *testing.T) {
	s := many(t, 60, 20)
	path := s.path
	s.Close()
	for _, sql := range []string{`UPDATE conversations SET turns = turns + 1 WHERE id = 'conv-1'`,
		`UPDATE conversations SET entries = 0`,
		`DELETE FROM turn_extents WHERE turn_id = 'turn-7'`, `UPDATE turn_extents SET last_entry = last_entry + 1`,
		`UPDATE usage_days SET input_tokens = 1`,
		`DELETE FROM usage_days`, `INSERT INTO usage_days VALUES('2020-01-01','a','b',1,1,1,1)`,
		`UPDATE usage_conversations SET responses = 7`,
		`DROP TABLE turn_extents`, `DROP TABLE usage_days`, `DROP TRIGGER entries_count`,
		`DROP INDEX conversations_last`} {
		harm(t, path, sql)
		s := openAtPath(t, path)
		if found, err := s.Check(); err != nil || len(found) == 0 {
			t.Errorf("%s: %v %v", sql, found, err)
		}
		if err := s.Rebuild(); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if found, err := s.Check(); err != nil || len(found) != 0 {
			t.Errorf("%s, counted anew: %v %v", sql, found, err)
		}
		s.Close()
	}
}

// A file of version 3 is read as it is, and has its totals once somebody writes.
func TestVersion3(t *testing.T) {
	path := oldFile(t)
	harm(t, path, version2+indexes+version3+"PRAGMA user_version=3;")
	r, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := inside(t, r)
	for _, s := range []*Store{openAtPath(t, path), r} {
		if now := inside(t, s); now != before {
			t.Errorf("%s\nnow\n%s", before, now)
		}
	}
	if n := versionOf(t, path); n != schemaVersion || filepath.Base(path) == "" {
		t.Fatal(n)
	}
}
