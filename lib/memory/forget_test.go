package memory

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/result"
)

// said is a memory in which two conversations say the same, with all that is kept of them.
func said(t *testing.T) *Forgetter {
	t.Helper()
	s, m := withMirrors(t)
	dir := t.TempDir()
	say(t, s, "u9", "conv-one", "typed in one\nand a second line")
	say(t, s, "u8", "conv-two", "typed in two")
	f := &Forgetter{Store: s, Mirror: m, Results: &result.Store{Dir: filepath.Join(dir, "results")},
		Turns: conversation.Turns{Dir: filepath.Join(dir, "turns")}, History: filepath.Join(dir, "history")}
	typed := "typed in one\\\nand a second line\n/help\ntyped in two\n  typed in one  \n"
	if err := os.WriteFile(f.History, []byte(typed), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestForget(t *testing.T) {
	f := said(t)
	list, err := f.Forget(t.Context(), []string{"conv-one"})
	if err != nil || len(list) == 0 || list[0].ID != "conv-one" {
		t.Fatal(list, err)
	}
	if _, _, err := f.Store.Show("conv-one"); err == nil {
		t.Error("it is still in the memory")
	}
	if left, err := f.Mirror.Conversations(); err != nil || !slices.Equal(left, []string{"conv-two"}) {
		t.Error(left, err)
	}
	if got := readFile(t, f.History); got != "/help\ntyped in two\n" {
		t.Errorf("the history: %q", got)
	}
	if _, err := f.Forget(t.Context(), []string{"conv-none"}); err == nil {
		t.Error("forgot what is not there")
	}
	if n, err := f.ForgetAll(t.Context()); err != nil || n != 1 || readFile(t, f.History) != "" {
		t.Error(n, err)
	}
	if left, err := f.Mirror.Conversations(); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

// Nothing is forgotten while a turn or an import is under way.
func TestForgetWaitsForNobody(t *testing.T) {
	f := said(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, hold := range map[string]func() (func(), error){
		"a turn": func() (func(), error) {
			release, _, err := f.Turns.Hold(t.Context(), "conv-one")
			return release, err
		},
		"an import": func() (func(), error) { return f.Turns.HoldImport(t.Context()) },
	} {
		release, err := hold()
		if err != nil {
			t.Fatal(err)
		}
		_, one := f.Forget(ctx, []string{"conv-two", "conv-one"})
		_, all := f.ForgetAll(ctx)
		for _, err := range []error{one, all} {
			if e := envelope.From(err); e == nil || e.Code != "conversation.busy" ||
				!strings.Contains(e.Hint, "nothing was deleted") {
				t.Errorf("%s: %v", name, err)
			}
		}
		release()
		if list, err := f.Store.Conversations(0); err != nil || len(list) != 2 ||
			!strings.Contains(readFile(t, f.History), "two") {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestImporter: batches are stored as they fill, what cannot be stored is said, and mirrors follow.
func TestImporter(t *testing.T) {
	s, m := openTemp(t), &Mirror{Dir: filepath.Join(t.TempDir(), "agents")}
	k := Importer{Store: s, Agent: "coder"}
	var refused []Refused
	add := func(line record.Line) {
		more, err := k.Add(line)
		if err != nil {
			t.Fatal(err)
		}
		refused = append(refused, more...)
	}
	for i := range batchRecords + 1 {
		id := record.NewID("u-")
		add(parse(t, "user", id, "conv-a", "turn-"+id, `"content":"x"`))
		if i == 0 {
			add(parse(t, "user", id, "conv-a", "turn-"+id, `"content":"x"`))
			add(parse(t, "user", "u-empty", "conv-a", "turn-e", `"content":""`))
		}
	}
	if k.Counts.Imported+k.Counts.Known+k.Counts.Failed != batchRecords {
		t.Errorf("before the end: %+v", k.Counts)
	}
	more, err := k.Flush()
	refused = append(refused, more...)
	if want := (Counts{batchRecords + 1, 1, 1}); err != nil || k.Counts != want {
		t.Errorf("%+v, want %+v, %v", k.Counts, want, err)
	}
	if len(refused) != 1 || refused[0].Line.ID() != "u-empty" || refused[0].Err == nil {
		t.Errorf("%+v", refused)
	}
	if incomplete, err := k.Mirror(m); err != nil || incomplete != nil {
		t.Error(incomplete, err)
	}
	_, entries, err := s.Show("conv-a")
	if err != nil || len(entries) != batchRecords+1 {
		t.Error(len(entries), err)
	}
	if d, err := m.Compare("conv-a", entries); err != nil || d.Any() {
		t.Error(d, err)
	}
	if _, err := os.Stat(filepath.Join(m.Dir, "coder", "sessions", "conv-a.jsonl")); err != nil {
		t.Error(err)
	}
}
