package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/record"
)

func TestArchive(t *testing.T) {
	s := openTemp(t)
	say(t, s, "1", "conv-first", "hello one")
	say(t, s, "2", "conv-second", "hello two")
	conv, err := s.Archive("conv-second", true)
	if err != nil || conv.ArchivedAt == "" {
		t.Fatalf("%+v %v", conv, err)
	}
	again, err := s.Archive("conv-second", true)
	if err != nil || again.ArchivedAt != conv.ArchivedAt {
		t.Errorf("archived again: %+v %v", again, err)
	}
	if id, err := s.Latest(DefaultAgent); !errors.Is(err, ErrNotFound) {
		t.Errorf("the next message does not begin a new conversation: %q %v", id, err)
	}
	say(t, s, "3", "conv-second", "who goes on with it by name does not take it back")
	if id, err := s.Latest(""); !errors.Is(err, ErrNotFound) {
		t.Errorf("latest %q %v", id, err)
	}
	if hits, err := s.Search("two", SearchOptions{}); err != nil || len(hits) != 1 {
		t.Errorf("search: %v %v", hits, err)
	}
	on, _ := s.Listed(false, 0)
	off, _ := s.Listed(true, 0)
	all, _ := s.Conversations(0)
	if len(on) != 1 || on[0].ID != "conv-first" || len(off) != 1 || off[0].ID != "conv-second" || len(all) != 2 {
		t.Errorf("%v %v %v", on, off, all)
	}
	if conv, err := s.Archive("conv-second", false); err != nil || conv.ArchivedAt != "" {
		t.Errorf("%+v %v", conv, err)
	}
	if id, _ := s.Latest(""); id != "conv-second" {
		t.Errorf("latest %q", id)
	}
	if _, err := s.Archive("conv-nobody", true); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestImportKeepsNothingOfWhatItRefuses(t *testing.T) {
	s := openTemp(t)
	say(t, s, "known", "conv-a", "as it was")
	batch := []record.Line{
		parse(t, "conversation", "x", "conv-new", "", `"agent":"ops","archived_at":"2026-05-12T14:00:00Z"`),
		parse(t, "user", "n1", "conv-new", "t", `"content":"new"`),
		parse(t, "user", "known", "conv-other", "t", `"content":"as it was not"`),
		parse(t, "user", "broken", "conv-broken", "t", `"content":7`),
		parse(t, "delta", "d", "conv-new", "t", `"text":"x"`),
		parse(t, "user", "known", "conv-a", "turn-known", `"content":"as it was"`),
	}
	got, err := s.Import(batch, "")
	if err != nil || len(got) != len(batch) {
		t.Fatalf("%v %v", got, err)
	}
	for i, want := range []struct{ stored, failed bool }{{true, false}, {true, false}, {false, true}, {false, true},
		{false, true}, {false, false}} {
		if got[i].Stored != want.stored || (got[i].Err != nil) != want.failed {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
	if !errors.Is(got[2].Err, ErrConflict) || !errors.Is(got[4].Err, ErrKind) {
		t.Errorf("%v, %v", got[2].Err, got[4].Err)
	}
	list, err := s.Conversations(0)
	if err != nil || len(list) != 2 || list[0].ID != "conv-new" || list[0].Agent != "ops" ||
		list[0].ArchivedAt != "2026-05-12T14:00:00.000Z" {
		t.Errorf("%+v %v", list, err)
	}
	if found, err := s.Check(); err != nil || found != nil {
		t.Errorf("%v %v", found, err)
	}
}

// TestExportHoldsNothing: while a reader of the export takes its time, others write, and the log is folded in.
func TestExportHoldsNothing(t *testing.T) {
	s := openTemp(t)
	for _, id := range []string{"1", "2", "3"} {
		say(t, s, id, "conv-"+id, strings.Repeat("x", pageBytes/2+1))
	}
	other := openAtPath(t, s.path)
	n := 0
	err := s.Export(ExportOptions{}, func([]byte) error {
		n++
		say(t, s, record.NewID("same-"), "conv-same", "from the same process")
		say(t, other, record.NewID("other-"), "conv-other", "from another")
		return other.cutLog()
	})
	if err != nil || n != 6 {
		t.Errorf("%d lines, %v", n, err)
	}
	broken := errors.New("pipe")
	if err := s.Export(ExportOptions{}, func([]byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestSessionsOfOthersAreSeen(t *testing.T) {
	s := openTemp(t)
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
	say(t, s, "1", "conv-1", "hello")
	_, entries, err := s.Show("conv-1")
	if err != nil {
		t.Fatal(err)
	}
	compare := func(want Difference) {
		t.Helper()
		if d, err := m.Compare("conv-1", entries); d != want || err != nil {
			t.Errorf("%+v %v, want %+v", d, err, want)
		}
	}
	compare(Difference{From: 1, Missing: 1, Behind: true}) // no directory at all
	if err := m.Put(&entries[0], "ops"); err != nil {
		t.Fatal(err)
	}
	compare(Difference{})
	file := filepath.Join(m.Dir, "ops", "sessions", "conv-1.jsonl")
	line := readFile(t, file)
	os.WriteFile(file, []byte(line+line+"no JSON\n{}\n"), 0o600)
	compare(Difference{From: 2})
	os.WriteFile(file, []byte(strings.Replace(line, "hello", "Hello", 1)), 0o600)
	compare(Difference{From: 1, Missing: 1})
	os.WriteFile(file, []byte(line[:len(line)/2]), 0o600)
	compare(Difference{From: 1, Missing: 1, Behind: true}) // it is still being written, or was
	os.WriteFile(file, []byte(line[:len(line)/2]+"\n"), 0o600)
	compare(Difference{From: 1, Missing: 1})
	if err := m.Rewrite(DefaultAgent, "conv-1", entries); err != nil {
		t.Fatal(err)
	}
	compare(Difference{})
	if _, err := os.Stat(file); err == nil {
		t.Error("there are two mirrors")
	}
	if err := m.Point(DefaultAgent, "conv-1"); err != nil ||
		readFile(t, m.Dir, "default", "sessions", "current.jsonl") != line {
		t.Errorf("current: %v", err)
	}
	if err := m.Point(DefaultAgent, "conv-gone"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(m.Dir, "default", "sessions", "current.jsonl")); err == nil {
		t.Error("current points to what is gone")
	}
}
