package memory

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// remains finds a text in the raw bytes of the memory and below the mirror's directory.
func remains(t *testing.T, text string, path string, m *Mirror) (found []string) {
	t.Helper()
	files := []string{path, path + "-wal", path + "-shm"}
	more, err := filepath.Glob(m.Dir + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := filepath.Glob(m.Dir + "/*/sessions/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(append(files, more...), sessions...) {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(text)) {
			found = append(found, filepath.Base(f))
		}
	}
	return found
}

// TestDeleteLeavesNoByte fills a memory so that its pages split and merge, and deletes from it while others are open.
func TestDeleteLeavesNoByte(t *testing.T) {
	s, v := openTemp(t), newVocabulary()
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
	other := openAtPath(t, s.path) // keeps the log in use
	const conversations = 12
	marks := map[string][]string{}
	for i := range conversations * 25 {
		conv := fmt.Sprint("conv-", i%conversations)
		mark := fmt.Sprintf("q%08xz", rand.Uint32())
		marks[conv] = append(marks[conv], mark)
		content := mark + " " + v.text() + strings.Repeat(" pad"+mark, rand.IntN(2)*rand.IntN(2)*rand.IntN(600))
		b, _ := record.Encode(record.User{V: 1, Kind: record.KindUser, ID: fmt.Sprint("msg-", i), ConversationID: conv,
			Content: content})
		line, err := record.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := s.Keep(line, "", Place{})
		if err == nil {
			err = m.Put(&e, DefaultAgent)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(remains(t, marks["conv-0"][0], s.path, m)) < 3 {
		t.Fatal("what is searched for is not even there before: the test would prove nothing")
	}
	for c := 0; c < conversations-2; c += 2 {
		ids := []string{fmt.Sprint("conv-", c), fmt.Sprint("conv-", c+1)}
		if err := m.Remove(ids...); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Delete(ids...); err != nil || len(list) != 2 || list[1].ID != ids[1] ||
			list[1].Entries != 25 {
			t.Fatalf("%v %v", list, err)
		}
		for _, id := range ids {
			for _, mark := range append(marks[id], `"`+id+`"`, id+"\x00") {
				if found := remains(t, mark, s.path, m); found != nil {
					t.Errorf("%s of %s is still in %v", mark, id, found)
				}
			}
		}
	}
	if list, err := other.Conversations(0); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	last := fmt.Sprint("conv-", conversations-1)
	if found := remains(t, marks[last][24], s.path, m); len(found) < 3 {
		t.Errorf("what was not deleted is only in %v", found)
	}
	if hits, err := s.Search(marks[last][3], SearchOptions{}); err != nil || len(hits) != 1 {
		t.Errorf("%v %v", hits, err)
	}
	verify(t, s, nil)
	if list, err := s.Check(); err != nil || list != nil {
		t.Errorf("%v %v", list, err)
	}
}

func TestDeleteIsAllOrNothing(t *testing.T) {
	s := openTemp(t)
	toolTurn(t, s, "conv-one", "1")
	for _, ids := range [][]string{{"conv-none"}, {"conv-one", "conv-none"}, {"conv-one", "conv-one"}, {""}} {
		if _, err := s.Delete(ids...); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", ids, err)
		}
	}
	if _, entries, err := s.Show("conv-one"); err != nil || len(entries) != 5 {
		t.Errorf("%d entries are left: %v", len(entries), err)
	}
	if _, err := s.Delete("conv-one"); err != nil {
		t.Fatal(err)
	}
	toolTurn(t, s, "conv-one", "1") // somebody goes on with it: it begins anew
	if _, entries, err := s.Show("conv-one"); err != nil || len(entries) != 5 {
		t.Errorf("%d entries: %v", len(entries), err)
	}
}

// A reader who stays in the middle of the file keeps the bytes in the log: Delete says so, and Rebuild finishes it
// later.
func TestDeleteSaysWhenBytesRemain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sqlite")
	s, err := Open(path, Options{BusyTimeout: 50_000_000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	say(t, s, "1", "conv-gone", "vanishingword")
	r := openAtPath(t, path)
	if err := r.conn.Exec("BEGIN; SELECT count(*) FROM entries"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete("conv-gone"); err == nil || !strings.Contains(err.Error(), "bytes of them may remain") {
		t.Fatalf("deleted beside a reader: %v", err)
	}
	if conv, entries, err := s.Show("conv-gone"); err != nil || len(entries) != 0 || conv.Title != "" {
		t.Errorf("what is not deleted to the end: %+v %v %v", conv, entries, err)
	}
	if err := r.conn.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Check(); found != nil || err != nil {
		t.Errorf("check of what is not deleted to the end: %v %v", found, err)
	}
	if _, err := s.Delete("conv-gone"); err != nil { // it can be said again
		t.Fatal(err)
	}
	if _, _, err := s.Show("conv-gone"); !errors.Is(err, ErrNotFound) {
		t.Errorf("show: %v", err)
	}
	if found := remains(t, "vanishingword", path, &Mirror{Dir: t.TempDir()}); found != nil {
		t.Errorf("still in %v", found)
	}
}
