package memory

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/conversation"
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
		if f := forms[kind]; f.entry == nil || f.record == nil || f.tell == nil || f.said == nil || f.event == "" ||
			f.role == "" {
			t.Errorf("%s is stored, and its form is not whole: %+v", kind, f)
		}
	}
}

// TestOnlyWhatIsToldReachesTheModel: a kind without the trait Told is not among the messages, whatever its entry looks
// like.
func TestOnlyWhatIsToldReachesTheModel(t *testing.T) {
	told := record.KindsWith(record.Told)
	for _, kind := range append(record.KindsWith(0), "note", "") {
		for _, role := range []string{"user", "assistant", "tool"} {
			e := Entry{ID: "x", Kind: kind, Role: role, Content: "secret plan", ToolResults: []Result{{ID: "call-1"}}}
			call := Entry{ID: "y", Kind: record.KindResponse, Role: "assistant",
				ToolCalls: []record.CallPart{{ID: "call-1", Name: "f", Args: record.Raw("{}")}}}
			var said bool
			for _, m := range messagesOf([]Entry{call, e}) {
				said = said || m.Content == "secret plan"
			}
			if said != slices.Contains(told, kind) {
				t.Errorf("a %q as %s: the model is told %t", kind, role, said)
			}
		}
	}
	for _, kind := range told {
		if !slices.Contains(record.KindsWith(record.Stored), kind) {
			t.Errorf("%s is told and not stored", kind)
		}
	}
}

// TestANewKindIsARow: a kind of which only the table of forms knows is stored, found, mirrored, traced, exported and
// imported, and no model is told of it.
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
			return Entry{ID: n.ID, ConversationID: n.ConversationID, TurnID: n.TurnID, TS: n.TS, Content: n.Text}, "",
				err
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
	if got := readFile(t, m.Dir, "default", "sessions", "conv-1.jsonl") + readFile(t, m.Dir, "default",
		"agent.jsonl"); strings.Count(got, "buy aardvarks") != 2 || !strings.Contains(got, `"event":"noted"`) {
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
	if c, err := s.Context("conv-1", conversation.Budget{}); err != nil || len(c.Turns) != 0 {
		t.Errorf("the model is told %+v %v", c, err)
	}
	if all, err := openTemp(t).Import(exported, ""); err != nil || len(all) != 2 || !all[1].Stored {
		t.Errorf("imported %+v %v", all, err)
	}
}
