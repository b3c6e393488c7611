package memory

import (
	"errors"
	"strings"
	"testing"

	"clawsh/lib/conversation"
)

// TestTranscript: people see what was said, which calls have no result and why a turn has no answer, and nothing that
// changes their terminal.
func TestTranscript(t *testing.T) {
	s := openTemp(t)
	say(t, s, "u1", "conv-1", "two\nlines \u001b[2J")
	put(t, s, "response", "r1", "conv-1", "t1",
		`"final_text":"","tool_calls":[{"id":"call-1","name":"time","args":{}},{"id":"call-2","name":"shell","args":{}}]`)
	put(t, s, "tool_result", "call-1", "conv-1", "t1", `"tool":"time","args":{},"success":true,"output":"noon"`)
	put(t, s, "final", "f1", "conv-1", "t1", `"text":"","stop_reason":"provider_error","error":"no \u001b[31mserver"`)
	all, err := s.Transcript("conv-1")
	if err != nil || len(all.Entries) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	var b strings.Builder
	if err := all.WriteText(&b); err != nil || strings.ContainsRune(b.String(), '\x1b') {
		t.Errorf("%q, %v", b.String(), err)
	}
	for _, want := range []string{"conv-1  agent ", "two\nlines \\x1b[2J\n", "calls time {}\ncalls shell {}\n  no result: " +
		conversation.Interrupted + "\n", "  tool time\nnoon\n",
		"  the turn ended without an answer (provider_error): no \\x1b[31mserver\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q lacks %q", b.String(), want)
		}
	}
	one, err := s.Transcript("call-1")
	if err != nil || len(one.Entries) != 1 || one.Conversation.ID != "conv-1" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := s.Transcript("none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
