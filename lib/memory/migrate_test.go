package memory

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"clawsh/lib/conversation"
	"clawsh/test/need"
)

// version1SQL makes a file as the first release did: its schema to the letter, and a few entries.
//
//go:embed testdata/version1.sql
var version1SQL string

func oldFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.sqlite")
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := errors.Join(fts5.Register(conn), conn.Exec("PRAGMA journal_mode=WAL;"+version1SQL)); err != nil {
		t.Fatal(err)
	}
	return path
}

// oddOnly tells whether the only problem is the one that the old file has.
func oddOnly(found []Problem) bool {
	return slices.Equal(found, []Problem{{What: ProblemFile, Message: "entry resp-4: its metadata cannot be read"}})
}

func versionOf(t *testing.T, path string) int64 {
	t.Helper()
	conn, err := sqlite3.OpenFlags("file:"+path, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n, err := number(conn, "PRAGMA user_version")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inside tells what a person can see of the old file, by whichever way it was opened.
func inside(t *testing.T, s *Store) string {
	t.Helper()
	var out strings.Builder
	list, err := s.Conversations(0)
	fmt.Fprintln(&out, list, err)
	for _, c := range list {
		conv, entries, err := s.Show(c.ID)
		fmt.Fprintln(&out, *conv, len(entries), err)
	}
	hits, err := s.Search("list", SearchOptions{})
	fmt.Fprintln(&out, len(hits), err)
	used, err := s.Usage(UsageOptions{By: "model"})
	fmt.Fprintln(&out, used, err)
	latest, err := s.Latest("ops")
	fmt.Fprintln(&out, latest, err)
	sent, err := s.Context("conv-old1", conversation.Budget{Messages: 40, Tokens: 10_000, Bytes: 1 << 20})
	fmt.Fprintln(&out, len(sent.Messages()), err)
	if err := s.Export(ExportOptions{Conversation: "conv-old1"},
		func(l []byte) error { fmt.Fprintf(&out, "%s\n", l); return nil }); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestVersion1IsMigratedByAWriterAndReadByAReader(t *testing.T) {
	path := oldFile(t)
	r, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	before := inside(t, r)
	if found, err := r.Check(); err != nil || !oddOnly(found) {
		t.Errorf("check of version 1: %v %v", found, err)
	}
	for _, o := range []SearchOptions{{ConversationID: "conv-old1"}, {Provider: "local", ConversationID: "conv-old1"},
		{Since: "2026-05-12T00:00:00Z"}} {
		if hits, err := r.Search("file", o); err != nil || len(hits) == 0 {
			t.Errorf("search of version 1 with %+v: %d hits, %v", o, len(hits), err)
		}
	}
	if n := versionOf(t, path); n != 1 {
		t.Fatalf("a reader made version %d of it", n)
	}
	if !strings.Contains(before, "[{   local mock 4 31 8}]") {
		t.Errorf("usage of the old file: %s", before)
	}
	w := openAtPath(t, path)
	if n := versionOf(t, path); n != schemaVersion {
		t.Fatalf("a writer left version %d", n)
	}
	if now := inside(t, r); now != before {
		t.Errorf("the reader that was there sees\n%s\nand saw\n%s", now, before)
	}
	r.Close()
	if now := inside(t, w); now != before {
		t.Errorf("after the migration\n%s\nbefore\n%s", now, before)
	}
	// the old program lost the newline, and knew the length
	if !strings.Contains(before, `"output":"\nout","error":"broken"`) {
		t.Errorf("output of a failed call: %s", before)
	}
	if found, err := w.Check(); err != nil || !oddOnly(found) {
		t.Errorf("check after the migration: %v %v", found, err)
	}
	if found, err := w.CheckWords(); err != nil || len(found) != 0 {
		t.Errorf("words after the migration: %v %v", found, err)
	}
	toolTurn(t, w, "conv-old1", "9")
	n, err := number(w.conn,
		`SELECT count(*) FROM entries WHERE kind = 'response' AND input_tokens IS NULL OR kind <> 'response' AND input_tokens IS NOT NULL`)
	if n != 0 || err != nil {
		t.Errorf("%d entries with wrong tokens, %v", n, err)
	}
}

// A migrated file is like a new one, to the letter.
func TestMigratedIsLikeNew(t *testing.T) {
	old, fresh := openAtPath(t, oldFile(t)), openTemp(t)
	a, err1 := objects(old.conn)
	b, err2 := objects(fresh.conn)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if len(a) != len(b) {
		t.Errorf("%d objects, a new file has %d", len(a), len(b))
	}
	for o, sql := range b {
		if a[o] != sql {
			t.Errorf("%v is %q, in a new file %q", o, a[o], sql)
		}
	}
}

func TestManyMigrateAtOnce(t *testing.T) {
	path := oldFile(t)
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	var ids []string
	for i := range 6 {
		cmd, out := startChild(t, path, fmt.Sprintf("m%d", i), "count")
		cmds = append(cmds, cmd)
		outs = append(outs, out)
	}
	for i, cmd := range cmds {
		for outs[i].Scan() {
			ids = append(ids, outs[i].Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if len(ids) != 6*50 {
		t.Fatalf("%d acknowledged", len(ids))
	}
	s := openAtPath(t, path)
	verify(t, s, append([]string{"msg-1", "resp-4"}, ids...))
	if found, err := s.Check(); err != nil || !oddOnly(found) {
		t.Errorf("%v %v", found, err)
	}
}

// TestMigrationIsOneTransaction: whatever goes wrong in the middle, the file is of version 1 and whole.
func TestMigrationIsOneTransaction(t *testing.T) {
	path := oldFile(t)
	harm(t, path, `CREATE TABLE turns(x)`) // in the way of the second half
	if s, err := Open(path, Options{}); err == nil {
		s.Close()
		t.Fatal("migrated over a table of the view's name")
	}
	if n := versionOf(t, path); n != 1 {
		t.Fatalf("version %d", n)
	}
	harm(t, path, `DROP TABLE turns`)
	s := openAtPath(t, path)
	if found, err := s.Check(); err != nil || !oddOnly(found) {
		t.Errorf("%v %v", found, err)
	}
}

// TestKilledWhileMigrating kills processes at random moments of a migration that takes a while.
func TestKilledWhileMigrating(t *testing.T) {
	path := oldFile(t)
	harm(t, path, `WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO entries SELECT i, 'r' || i, 'conv-old1', 't' || i, '2026-05-12T16:00:00.000Z', 'response', 'assistant', '', NULL, NULL, '', 'local', 'mock', '',
		'{"usage":{"input_tokens":1,"output_tokens":2}}' FROM n; UPDATE conversations SET last_entry = 5000 WHERE id = 'conv-old1'`)
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]int{}
	rounds := need.Rounds(3, 12)
	for n := range rounds {
		round := n * 11 / (rounds - 1) // from the first moment to the last
		copied := filepath.Join(t.TempDir(), "copy")
		if err := os.WriteFile(copied, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, out := startChild(t, copied, "k", "open")
		for i := 0; i < 1+20*round && out.Scan(); i++ { // a line every so many instructions of SQLite's
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() {
		}
		cmd.Wait()
		seen[versionOf(t, copied)]++
		s, err := Open(copied, Options{})
		if err != nil {
			t.Fatal(err)
		}
		used, err := s.Usage(UsageOptions{By: "model"})
		if err != nil || len(used) != 1 || used[0].InputTokens != 31+4901 || used[0].Responses != 4+4901 {
			t.Errorf("round %d: %+v %v", round, used, err)
		}
		if found, err := s.Check(); err != nil || !oddOnly(found) {
			t.Errorf("round %d: %v %v", round, found, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("versions that the killed left: %v", seen)
	if seen[1] == 0 {
		t.Errorf("no process was killed before the end of its migration: %v", seen)
	}
}
