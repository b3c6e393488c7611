package memory

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// openTemp opens a fresh store.
func openTemp(t testing.TB) *Store {
	t.Helper()
	return openAtPath(t, filepath.Join(t.TempDir(), "memory.sqlite"))
}

func openAtPath(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// parse makes a record line of a kind; fields is JSON without braces.
func parse(t testing.TB, kind, id, conv, turn, fields string) record.Line {
	t.Helper()
	if fields != "" {
		fields = "," + fields
	}
	line, err := record.Parse(fmt.Appendf(nil, `{"v":1,"kind":%q,"id":%q,"conversation_id":%q,"turn_id":%q%s}`,
		kind, id, conv, turn, fields))
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func put(t testing.TB, s *Store, kind, id, conv, turn, fields string) {
	t.Helper()
	if err := s.Put(parse(t, kind, id, conv, turn, fields), ""); err != nil {
		t.Fatal(err)
	}
}

// say puts a user message.
func say(t testing.TB, s *Store, id, conv, content string) {
	t.Helper()
	b, _ := record.Encode(content)
	put(t, s, "user", id, conv, "turn-"+id, `"content":`+string(b))
}

// toolTurn puts a whole turn with one call.
func toolTurn(t testing.TB, s *Store, conv, n string) {
	t.Helper()
	turn := "turn-" + n
	put(t, s, "user", "user-"+n, conv, turn, `"content":"list files `+n+`"`)
	put(t, s, "response", "resp-"+n+"a", conv, turn,
		`"provider":"local","model":"mock","final_text":"","tool_calls":[{"id":"call-`+n+
			`","name":"file_list","args":{"path":"."}}],"raw_provider_payload":{"secret":"RAWPAYLOAD"}`)
	put(t, s, "tool_result", "call-"+n, conv, turn,
		`"tool":"file_list","args":{"path":"."},"verdict":{"decision":"allow","risk":"low","permit":"PERMITBYTES"},"status":"allowed","success":true,"output":"a.txt","metadata":{"duration_ms":3,"truncated":false},"receipt_id":"receipt-`+n+`"`)
	put(t, s, "response", "resp-"+n+"b", conv, turn, `"provider":"local","model":"mock","final_text":"one file `+n+
		`","tool_calls":[],"finish_reason":"stop","usage":{"input_tokens":7,"output_tokens":2}`)
	put(t, s, "final", "final-"+n, conv, turn, `"content":"one file `+n+`","rounds":2,"stop_reason":"final_text"`)
}

func TestPutAndShow(t *testing.T) {
	s := openTemp(t)
	toolTurn(t, s, "conv-1", "1")
	toolTurn(t, s, "conv-1", "1") // every record again
	conv, entries, err := s.Show("conv-1")
	if err != nil {
		t.Fatal(err)
	}
	if conv.Title != "list files 1" || conv.Agent != "default" || conv.Turns != 1 || conv.Entries != 5 ||
		len(entries) != 5 {
		t.Errorf("conversation %+v, %d entries", conv, len(entries))
	}
	call, result, final := entries[1], entries[2], entries[4]
	if call.ToolCalls[0].Name != "file_list" || string(call.ToolCalls[0].Args) != `{"path":"."}` ||
		call.Provider != "local" || call.Model != "mock" {
		t.Errorf("response entry %+v", call)
	}
	r := result.ToolResults[0]
	if result.Role != "tool" || result.Content != "a.txt" || result.ReceiptID != "receipt-1" || r.OutputBytes != 5 ||
		!r.Success || r.Verdict.Risk != "low" || r.Verdict.Permit != "" {
		t.Errorf("tool entry %+v", result)
	}
	if final.Content != "" || !strings.Contains(string(final.Metadata), `"stop_reason":"final_text"`) {
		t.Errorf("a final that repeats the response is stored as %+v", final)
	}
	for _, name := range []string{s.path, s.path + "-wal"} {
		b, _ := os.ReadFile(name)
		if bytes.Contains(b, []byte("RAWPAYLOAD")) || bytes.Contains(b, []byte("PERMITBYTES")) {
			t.Errorf("%s holds a raw payload or a permit", name)
		}
	}
}

func TestPutRefusesAndSettles(t *testing.T) {
	s := openTemp(t)
	say(t, s, "u1", "conv-1", "hello")
	if err := s.Put(parse(t, "user", "u1", "conv-1", "turn-u1", `"content":"other"`), ""); !errors.Is(err,
		ErrConflict) {
		t.Errorf("another record with the same id: %v", err)
	}
	if err := s.Put(parse(t, "user", "u1", "conv-new", "turn-u1", `"content":"hello"`), ""); !errors.Is(err,
		ErrConflict) {
		t.Errorf("the same record in another conversation: %v", err)
	}
	if _, _, err := s.Show("conv-new"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a refused record left its conversation: %v", err)
	}
	for _, kind := range []string{"request", "delta", "tool_call", "error", "other"} {
		if err := s.Put(parse(t, kind, "x", "conv-1", "t", ""), ""); !errors.Is(err, ErrKind) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if err := s.Put(parse(t, "user", "bad", "c", "t", `"content":7`), ""); err == nil {
		t.Error("a content that is no text was stored")
	}
	put(t, s, "user", "", "", "", `"content":"bare","ts":"2026-01-02T03:04:05+01:00"`)
	put(t, s, "response", "", "", "", `"final_text":"answer","ts":"yesterday"`)
	_, entries, err := s.Show(Unfiled)
	if err != nil || len(entries) != 2 {
		t.Fatalf("records without ids: %v %v", entries, err)
	}
	if entries[0].TS != "2026-01-02T02:04:05.000Z" || entries[0].TurnID == "" ||
		entries[1].TurnID != entries[0].TurnID || len(entries[1].TS) != 24 {
		t.Errorf("entries %+v", entries)
	}
	put(t, s, "final", "f", "conv-1", "turn-u1", `"content":"stopped","stop_reason":"timeout"`)
	if _, entries, _ = s.Show("conv-1"); entries[1].Content != "stopped" {
		t.Errorf("a final with words of its own: %+v", entries[1])
	}
	put(t, s, "tool_result", "c9", "conv-1", "turn-u1",
		`"tool":"shell","status":"failed","success":false,"output":"out","error":"exit 1"`)
	if _, entries, _ = s.Show("conv-1"); entries[2].Content != "out\nexit 1" {
		t.Errorf("content of a failed tool: %q", entries[2].Content)
	}
}

func TestConversationsLatestResolve(t *testing.T) {
	s := openTemp(t)
	if _, err := s.Latest(""); !errors.Is(err, ErrNotFound) {
		t.Errorf("latest of nothing: %v", err)
	}
	long := strings.Repeat("wörd\n", 40)
	say(t, s, "1", "conv-aaaa-1", long)
	say(t, s, "2", "conv-aaaa-2", "two")
	if err := s.Put(parse(t, "user", "3", "conv-aaaa", "t", `"content":"three"`), "robot"); err != nil {
		t.Fatal(err)
	}
	say(t, s, "4", "conv-aaaa-1", "again")
	say(t, s, "5", "", "unfiled")
	list, err := s.Conversations(0)
	if err != nil || len(list) != 4 || list[1].ID != "conv-aaaa-1" || list[1].Turns != 2 {
		t.Fatalf("conversations %+v %v", list, err)
	}
	if n := len([]rune(list[1].Title)); n != 80 || strings.Contains(list[1].Title, "\n") {
		t.Errorf("title of %d runes: %q", n, list[1].Title)
	}
	if list, _ = s.Conversations(2); len(list) != 2 {
		t.Errorf("limit 2 gives %d", len(list))
	}
	for agent, want := range map[string]string{"": "conv-aaaa-1", "default": "conv-aaaa-1", "robot": "conv-aaaa"} {
		if id, err := s.Latest(agent); id != want || err != nil {
			t.Errorf("Latest(%q) = %q, %v", agent, id, err)
		}
	}
	for id, want := range map[string]error{"conv-aaaa": nil, "conv-aaaa-": ErrAmbiguous, "conv-aaaa-1": nil,
		"conv-aa": ErrNotFound, "conv-aaa": ErrAmbiguous,
		"": ErrNotFound, "conv-aaaa-1x": ErrNotFound, "conv-____": ErrNotFound, "%%%%%%%%%": ErrNotFound,
		"conv-unf": nil} {
		if got, err := s.Resolve(id); !errors.Is(err, want) || want == nil && !strings.HasPrefix(got, id) {
			t.Errorf("Resolve(%q) = %q, %v", id, got, err)
		}
	}
}

func TestClearLeavesNoBytes(t *testing.T) {
	s := openTemp(t)
	other := openAtPath(t, s.path)
	for i := range 300 {
		say(t, s, fmt.Sprint(i), "conv-1", fmt.Sprintf("the treasure Xyzzyplugh%d lies %s", i,
			strings.Repeat("deep ", 50)))
	}
	if hits, err := other.Search("xyzzyplugh7", SearchOptions{}); err != nil || len(hits) == 0 {
		t.Fatalf("before: %v %v", hits, err)
	}
	n, err := s.Clear()
	if err != nil || n != 300 {
		t.Fatalf("Clear() = %d, %v", n, err)
	}
	for _, name := range []string{s.path, s.path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"zyplugh", "zypl", "treasure", "conv-1"} {
			if bytes.Contains(bytes.ToLower(b), []byte(word)) {
				t.Errorf("%s still holds %q", filepath.Base(name), word)
			}
		}
	}
	if hits, err := other.Search("treasure", SearchOptions{}); err != nil || len(hits) != 0 {
		t.Errorf("after: %v %v", hits, err)
	}
	say(t, other, "new", "conv-2", "fresh start")
	if list, err := s.Conversations(0); err != nil || len(list) != 1 {
		t.Errorf("store after Clear: %v %v", list, err)
	}
}
