package memory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withMirrors is a memory with two conversations, and their mirrors.
func withMirrors(t *testing.T) (*Store, *Mirror) {
	t.Helper()
	s := openTemp(t)
	toolTurn(t, s, "conv-one", "1")
	toolTurn(t, s, "conv-two", "2")
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents")}
	for _, id := range []string{"conv-one", "conv-two"} {
		conv, entries, err := s.Show(id)
		if err == nil {
			err = m.Rewrite(conv.Agent, id, entries)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, m
}

// mirrorFile is the mirror of a conversation.
func mirrorFile(t *testing.T, m *Mirror, id string) string {
	t.Helper()
	found, err := filepath.Glob(m.Dir + "/*/sessions/" + id + ".jsonl")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// A checkup tells damage from a lag and from what it has mended, and mends nothing unasked.
func TestCheckup(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(t *testing.T, m *Mirror)
		says  string
		left  int // problems without being asked to mend
		after int // and with that
	}{
		"nothing": {func(*testing.T, *Mirror) {}, "", 0, 0},
		"changed": {func(t *testing.T, m *Mirror) {
			path := mirrorFile(t, m, "conv-one")
			text := readFile(t, path)
			os.WriteFile(path, []byte(strings.Replace(text, `"content":"`, `"content":"not `, 1)), 0o600)
		}, "session conv-one", 1, 0},
		"last line lost": {func(t *testing.T, m *Mirror) {
			path := mirrorFile(t, m, "conv-two")
			lines := strings.SplitAfter(readFile(t, path), "\n")
			os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-2], "")), 0o600)
		}, "session conv-two", 0, 0},
		"of nobody": {func(t *testing.T, m *Mirror) {
			path := mirrorFile(t, m, "conv-two")
			os.WriteFile(filepath.Join(filepath.Dir(path), "conv-none.jsonl"), []byte(readFile(t, path)), 0o600)
		}, "conv-none is not in the memory", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := withMirrors(t)
			c.harm(t, m)
			for _, o := range []CheckOptions{{}, {Words: true}, {RepairMirror: true, Rebuild: true}} {
				r, err := s.Checkup(t.Context(), m, o)
				want := c.left
				if o.RepairMirror {
					want = c.after
				}
				if err != nil || len(r.Left()) != want || r.Conversations != 2 || r.Entries == 0 || r.Path != s.path {
					t.Errorf("%+v: %+v, %v", o, r, err)
				}
				if (len(r.Problems) == 0) != (c.says == "") || c.says != "" &&
					!strings.Contains(r.Problems[0].Message, c.says) {
					t.Errorf("%+v: %+v, want %q", o, r.Problems, c.says)
				}
			}
			if r, err := s.Checkup(t.Context(), m, CheckOptions{}); err != nil || len(r.Problems) != c.after {
				t.Errorf("afterwards: %+v, %v", r.Problems, err)
			}
		})
	}
}

// Rebuild mends what can be made from the entries, and a checkup says so.
func TestCheckupRebuilds(t *testing.T) {
	path := filled(t)
	harm(t, path, `DELETE FROM entry_words WHERE rowid = 1`)
	s, m := openAtPath(t, path), &Mirror{Dir: t.TempDir()}
	r, err := s.Checkup(t.Context(), m, CheckOptions{Rebuild: true, RepairMirror: true})
	if err != nil || len(r.Problems) == 0 || len(r.Left()) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := problems(t, path, true); got != nil {
		t.Errorf("%q", got)
	}
}

// Who gives up does not wait until mirrors have settled.
func TestCheckupIsCancelled(t *testing.T) {
	s := openTemp(t)
	toolTurn(t, s, "conv-one", "1")
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(enough)
	if _, err := s.Checkup(ctx, &Mirror{Dir: t.TempDir()}, CheckOptions{}); !errors.Is(err, enough) {
		t.Error(err)
	}
}
