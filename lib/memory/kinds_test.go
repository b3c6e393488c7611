package memory

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
)

func TestFormsAreOfTheStoredKinds(t *testing.T) {
	stored := record.KindsWith(record.Stored)
	for kind := range forms {
		if !slices.Contains(stored, kind) {
			t.Errorf("%s has a form, and the table of kinds does not say that it is stored", kind)
		}
	}
	for _, kind := range stored {
		if f := forms[kind]; f.entry == nil || f.record == nil || f.tell == nil || f.said == nil || f.event == "" || f.role == "" {
			t.Errorf("%s is stored, and its form is not whole: %+v", kind, f)
		}
	}
}

// TestANewKindIsARow: a kind of which only the table of forms knows is stored, found, mirrored, traced, exported and imported.
func TestANewKindIsARow(t *testing.T) {
	type note struct {
		Kind           record.Kind `json:"kind"`
		ID             string      `json:"id"`
		ConversationID string      `json:"conversation_id"`
		TurnID         string      `json:"turn_id"`
		TS             string      `json:"ts"`
		Text           string      `json:"text"`
	}
	forms["note"] = form{role: "user", event: "noted", tell: content, said: always,
		entry: func(line record.Line) (Entry, string, error) {
			var n note
			err := record.DecodeOpen(line.Bytes(), &n)
			return Entry{ID: n.ID, ConversationID: n.ConversationID, TurnID: n.TurnID, TS: n.TS, Content: n.Text}, "", err
		},
		record: func(e *Entry, conversation string) (any, error) {
			return note{e.Kind, e.ID, conversation, e.TurnID, e.TS, e.Content}, nil
		}}
	t.Cleanup(func() { delete(forms, "note") })
	const raw = `{"kind":"note","id":"n-1","conversation_id":"conv-1","turn_id":"t-1","ts":"2026-01-02T03:04:05.000Z","text":"buy aardvarks"}`
	line, err := record.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	s := openTemp(t)
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
	if err := mirror(m, line, ""); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, m.Dir, "default", "sessions", "conv-1.jsonl") + readFile(t, m.Dir, "default", "agent.jsonl"); strings.Count(got, "buy aardvarks") != 2 || !strings.Contains(got, `"event":"noted"`) {
		t.Errorf("mirrored as %s", got)
	}
	if hits, err := s.Search("aardvarks", SearchOptions{Kind: "note"}); err != nil || ids(hits) != "n-1" {
		t.Errorf("found %v %v", hits, err)
	}
	var exported []record.Line
	err = s.Export(ExportOptions{}, func(b []byte) error {
		l, err := record.Parse(slices.Clone(b))
		exported = append(exported, l)
		return err
	})
	if err != nil || len(exported) != 2 || string(exported[1].Bytes()) != raw {
		t.Fatalf("exported %v %v", exported, err)
	}
	if all, err := openTemp(t).Import(exported, ""); err != nil || len(all) != 2 || !all[1].Stored {
		t.Errorf("imported %+v %v", all, err)
	}
}
