package memory

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/record"
)

func readFile(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// mirror stores a record and mirrors it.
func mirror(m *Mirror, line record.Line, agent string) error {
	e, _, err := m.Store.Keep(line, agent, Place{})
	if err != nil {
		return err
	}
	return m.Put(&e, cmp.Or(agent, DefaultAgent))
}

func TestMirror(t *testing.T) {
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: openTemp(t)}
	put := func(kind, id, conv, fields string) {
		t.Helper()
		if err := mirror(m, parse(t, kind, id, conv, "turn-1", `"ts":"2026-01-02T03:04:05.678Z",`+fields),
			"default"); err != nil {
			t.Fatal(err)
		}
	}
	put("user", "u", "conv-1", `"content":"two\nlines`+strings.Repeat("ü", 200)+`"`)
	put("response", "r", "conv-1", `"final_text":"","tool_calls":[{"id":"c1","name":"time","args":{}}]`)
	put("tool_result", "c1", "conv-1",
		`"tool":"time","status":"failed","success":false,"output":"","error":"broken","receipt_id":"receipt-1"`)
	put("final", "f1", "conv-1", `"content":"done","rounds":1,"stop_reason":"final_text"`)
	put("final", "f2", "conv-1", `"content":"late","rounds":5,"stop_reason":"timeout"`)
	home := filepath.Join(m.Dir, "default")
	lines := strings.Split(strings.TrimSuffix(readFile(t, home, "sessions", "conv-1.jsonl"), "\n"), "\n")
	want := []string{
		``,
		`{"id":"r","ts":"2026-01-02T03:04:05.678Z","conversation_id":"conv-1","turn_id":"turn-1","role":"assistant","content":"","tool_calls":[{"id":"c1","name":"time","args":{}}]}`,
		`{"id":"c1","ts":"2026-01-02T03:04:05.678Z","conversation_id":"conv-1","turn_id":"turn-1","role":"tool","content":"broken","tool":"time","status":"failed","receipt_id":"receipt-1"}`,
		`{"id":"f2","ts":"2026-01-02T03:04:05.678Z","conversation_id":"conv-1","turn_id":"turn-1","role":"assistant","content":"late","status":"timeout"}`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for i := range want {
		if want[i] != "" && lines[i] != want[i] {
			t.Errorf("line %d\n%s\nwant\n%s", i, lines[i], want[i])
		}
	}
	trace := strings.Split(strings.TrimSuffix(readFile(t, home, "agent.jsonl"), "\n"), "\n")
	var events []string
	for _, l := range trace {
		var line traceLine
		if err := record.Decode([]byte(l), &line); err != nil || line.Agent != "default" || len(line.Message) > 200 {
			t.Errorf("trace %s: %v", l, err)
		}
		events = append(events, line.Event)
	}
	if got := strings.Join(events, " "); got != "user_input response tool_result final final" {
		t.Errorf("events %s", got)
	}
	put("user", "u2", "conv-2", `"content":"next"`)
	link := filepath.Join(home, "sessions", "current.jsonl")
	if target, err := os.Readlink(link); target != "conv-2.jsonl" || err != nil {
		t.Errorf("current.jsonl -> %q, %v", target, err)
	}
	if !strings.Contains(readFile(t, link), "next") {
		t.Error("current.jsonl does not show the newest conversation")
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, "sessions": 0o700, "agent.jsonl": 0o600,
		"sessions/conv-1.jsonl": 0o600} {
		if info, err := os.Stat(filepath.Join(home, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v %v", name, info.Mode(), err)
		}
	}
	os.WriteFile(filepath.Join(home, "soul.md"), []byte("soul"), 0o600)
	before, err := os.Stat(filepath.Join(home, "agent.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Clear(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "sessions", "*")); len(left) != 0 ||
		readFile(t, home, "soul.md") != "soul" {
		t.Errorf("Clear left %v", left)
	}
	// a process that is confined to this very file goes on with it
	if now, err := os.Stat(filepath.Join(home, "agent.jsonl")); err != nil || now.Size() != 0 ||
		!os.SameFile(before, now) {
		t.Errorf("Clear made of the trace %v, %v", now, err)
	}
	// where there can be no trace, there is a session all the same
	if err := errors.Join(os.Remove(filepath.Join(home, "agent.jsonl")),
		os.Mkdir(filepath.Join(home, "agent.jsonl"), 0o700)); err != nil {
		t.Fatal(err)
	}
	var failed *MirrorError
	err = mirror(m, parse(t, "user", "u3", "conv-2", "turn-1", `"content":"a"`), "default")
	if !errors.As(err, &failed) || !strings.Contains(readFile(t, home, "sessions", "conv-2.jsonl"), `"content":"a"`) {
		t.Errorf("without a trace: %v", err)
	}
}

func TestMirrorRefusesNames(t *testing.T) {
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: openTemp(t)}
	for _, id := range []string{"../x", "a/b", ".", "..", "a.b", "-\n", "current", "Current", "é",
		strings.Repeat("x", 81), "a b", "a\x00"} {
		b, _ := record.Encode(record.User{V: 1, Kind: record.KindUser, ID: record.NewID("u-"), ConversationID: id,
			Content: "x"})
		line, err := record.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		var failure *MirrorError
		if err := mirror(m, line, "default"); !errors.As(err, &failure) || !errors.Is(err, ErrName) {
			t.Errorf("conversation %q: %v", id, err)
		}
		if strings.EqualFold(id, current) {
			continue
		}
		if err := mirror(m, parse(t, "user", record.NewID("u-"), "conv-1", "t", `"content":"x"`), id); !errors.Is(err,
			ErrName) {
			t.Errorf("agent %q: %v", id, err)
		}
	}
	if _, err := os.Stat(m.Dir); err == nil {
		t.Error("something was written")
	}
}

func TestMirrorFollowsNoLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	line := parse(t, "user", "u", "conv-1", "t", `"content":"x"`)
	for name, plant := range map[string]string{
		"session file": "default/sessions/conv-1.jsonl", "trace": "default/agent.jsonl",
		"sessions": "default/sessions", "agent": "default",
	} {
		t.Run(name, func(t *testing.T) {
			m := &Mirror{Dir: t.TempDir(), Store: openTemp(t)}
			at := filepath.Join(m.Dir, plant)
			os.MkdirAll(filepath.Dir(at), 0o700)
			if err := os.Symlink(outside, at); err != nil {
				t.Fatal(err)
			}
			var failure *MirrorError
			if err := mirror(m, line, "default"); !errors.As(err, &failure) {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(outside); err == nil {
				t.Error("a link led out")
			}
		})
	}
	m := &Mirror{Dir: t.TempDir(), Store: openTemp(t)}
	file := filepath.Join(m.Dir, "default/sessions/current.jsonl")
	os.MkdirAll(filepath.Dir(file), 0o700)
	os.WriteFile(file, []byte("mine"), 0o600)
	if err := mirror(m, line, ""); err == nil || readFile(t, file) != "mine" {
		t.Errorf("a file in the link's place: %v", err)
	}
}
