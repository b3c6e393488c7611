package memory

import (
	"errors"
	"fmt"
	"testing"

	"clawsh/lib/record"
)

// sayAt stores a user's message of a conversation that is held at a place.
func sayAt(t *testing.T, s *Store, conversation, agent string, at Place) {
	t.Helper()
	raw := fmt.Sprintf(`{"v":1,"kind":"user","id":%q,"conversation_id":%q,"content":"hi"}`, record.NewID("msg-"),
		conversation)
	line, err := record.Parse([]byte(raw))
	if err == nil {
		_, _, err = s.Keep(line, agent, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLatestOfAPlace(t *testing.T) {
	s := openTemp(t)
	for _, c := range []struct {
		id, agent string
		at        Place
	}{
		{"conv-aaaaaaaa", "default", Place{"/w", "tty-1"}}, {"conv-bbbbbbbb", "default", Place{"/x", "tty-1"}},
		{"conv-cccccccc", "default", Place{"/w", "tty-2"}},
		{"conv-cron-w", "default", Place{"/w", ""}}, {"conv-cron-y", "default", Place{"/y", ""}},
		{"conv-ops", "ops", Place{"/w", "tty-1"}},
		{"conv-moved", "default", Place{"/w", "tty-1"}}, {"conv-moved", "default", Place{"/z", "tty-3"}},
		{"conv-moved", "default", Place{}}, {"conv-nowhere", "default", Place{}},
	} {
		sayAt(t, s, c.id, c.agent, c.at)
	}
	check := func(agent string, at Place, want string) {
		t.Helper()
		got, err := s.LatestAt(agent, at)
		if got != want || (want == "") != errors.Is(err, ErrNotFound) {
			t.Errorf("%s at %+v: %q %v, want %q", agent, at, got, err, want)
		}
	}
	check("default", Place{"/w", "tty-1"}, "conv-aaaaaaaa") // this terminal, in this directory
	// this terminal, and not what ran without one in the directory
	check("default", Place{"/y", "tty-1"}, "conv-bbbbbbbb")
	check("default", Place{"/w", "tty-9"}, "conv-cccccccc") // a new terminal: the directory's, not cron's
	check("default", Place{"/w", ""}, "conv-cron-w")
	check("default", Place{"/y", ""}, "conv-cron-y")
	check("default", Place{"/x", ""}, "")
	check("default", Place{"/q", "tty-9"}, "")
	check("default", Place{"/z", "tty-8"}, "conv-moved")
	check("ops", Place{"/w", "tty-1"}, "conv-ops")
	check("nobody", Place{"/w", "tty-1"}, "")
	if _, err := s.Archive("conv-aaaaaaaa", true); err != nil {
		t.Fatal(err)
	}
	check("default", Place{"/w", "tty-1"}, "") // the next message begins a new one
}

// A file of version 2 lacks places: a reader sees none, a writer adds them and keeps everything.
func TestVersion2IsMigratedByAWriterAndReadByAReader(t *testing.T) {
	path := oldFile(t)
	harm(t, path, version2+indexes+"PRAGMA user_version=2;")
	r, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	before := inside(t, r)
	if _, err := r.LatestAt("ops", Place{"/w", ""}); !errors.Is(err, ErrNotFound) {
		t.Errorf("the latest of a place in a file without places: %v", err)
	}
	w := openAtPath(t, path)
	if n := versionOf(t, path); n != schemaVersion {
		t.Fatalf("a writer left version %d", n)
	}
	for _, s := range []*Store{r, w} {
		if now := inside(t, s); now != before {
			t.Errorf("after the migration\n%s\nbefore\n%s", now, before)
		}
	}
	r.Close()
	sayAt(t, w, "conv-old1", "ops", Place{"/w", ""})
	if id, err := w.LatestAt("ops", Place{"/w", ""}); id != "conv-old1" || err != nil {
		t.Errorf("%q %v", id, err)
	}
	if found, err := w.Check(); err != nil || !oddOnly(found) {
		t.Errorf("check after the migration: %v %v", found, err)
	}
}
