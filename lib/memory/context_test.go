package memory

import (
	"fmt"
	"strings"
	"testing"

	"clawsh/lib/conversation"
	"clawsh/lib/record"
)

// outline writes messages as one word each: u, a, a(call), t(call), with ! for errors.
func outline(messages []record.Message) string {
	var words []string
	for _, m := range messages {
		w := m.Role[:1]
		for _, c := range m.ToolCalls {
			w += "(" + c.ID + ")"
		}
		if m.Role == "tool" {
			w += "(" + m.ToolCallID + ")"
		}
		if m.IsError {
			w += "!"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestContext(t *testing.T) {
	calls := func(ids ...string) string {
		var parts []string
		for _, id := range ids {
			parts = append(parts, `{"id":"`+id+`","name":"time","args":{}}`)
		}
		return `"final_text":"","tool_calls":[` + strings.Join(parts, ",") + `]`
	}
	const result = `"tool":"time","status":"allowed","success":true,"output":"now"`
	type rec struct{ kind, id, turn, fields string }
	for name, c := range map[string]struct {
		records  []rec
		messages int
		bytes    int
		want     string
	}{
		"nothing":   {nil, 0, 0, ""},
		"user only": {[]rec{{"user", "u", "t", `"content":"hi"`}}, 0, 0, "u"},
		"interrupted before tools": {[]rec{{"user", "u", "t", `"content":"hi"`},
			{"response", "r", "t", calls("c1", "c2")}, {"tool_result", "c1", "t", result}}, 0, 0,
			"u a(c1)(c2) t(c1) t(c2)!"},
		"result before its call": {[]rec{{"user", "u", "t", `"content":"hi"`}, {"tool_result", "c1", "t", result},
			{"response", "r", "t", calls("c1")}}, 0, 0, "u a(c1) t(c1)"},
		"results in other order": {[]rec{{"response", "r", "t", calls("c1", "c2")},
			{"tool_result", "c2", "t", result}, {"tool_result", "c1", "t", result}}, 0, 0, "a(c1)(c2) t(c1) t(c2)"},
		"result without a call": {[]rec{{"user", "u", "t", `"content":"hi"`}, {"tool_result", "c1", "t", result}}, 0,
			0, "u"},
		"denied": {[]rec{{"response", "r", "t", calls("c1")},
			{"tool_result", "c1", "t", `"tool":"shell","status":"denied","success":false,"error":"no"`}}, 0, 0,
			"a(c1) t(c1)!"},
		"empty response": {[]rec{{"user", "u", "t", `"content":"hi"`},
			{"response", "r", "t", `"final_text":""`}}, 0, 0, "u"},
		"final repeats": {[]rec{{"response", "r", "t", `"final_text":"done"`},
			{"final", "f", "t", `"content":"done"`}}, 0, 0, "a"},
		"final says more": {[]rec{{"response", "r", "t", calls("c")}, {"tool_result", "c", "t", result},
			{"final", "f", "t", `"content":"stopped"`}}, 0, 0, "a(c) t(c) a"},
		"turns interleaved": {[]rec{{"user", "u1", "t1", `"content":"1"`}, {"user", "u2", "t2", `"content":"2"`},
			{"response", "r1", "t1", calls("c")}, {"response", "r2", "t2", `"final_text":"x"`},
			{"tool_result", "c", "t1", result}}, 0, 0, "u a(c) t(c) u a"},
		"newest over budget": {[]rec{{"user", "u1", "t1", `"content":"1"`}, {"user", "u2", "t2", `"content":"2"`},
			{"response", "r2", "t2", calls("c")}}, 1, 1, "u a(c) t(c)!"},
		"oldest over messages": {[]rec{{"user", "u1", "t1", `"content":"1"`},
			{"response", "r1", "t1", `"final_text":"x"`}, {"user", "u2", "t2", `"content":"2"`},
			{"user", "u3", "t3", `"content":"3"`}}, 3, 0, "u u"},
		"oldest over bytes": {[]rec{{"user", "u1", "t1", `"content":"` + strings.Repeat("x", 99) + `"`},
			{"user", "u2", "t2", `"content":"2"`}, {"user", "u3", "t3", `"content":"3"`}}, 0, 100, "u u"},
		"exactly within": {[]rec{{"user", "u1", "t1", `"content":"1"`},
			{"user", "u2", "t2", `"content":"2"`}}, 2, 2, "u u"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			say(t, s, "noise", "conv-other", "other conversation")
			for _, r := range c.records {
				put(t, s, r.kind, r.id, "conv-1", r.turn, r.fields)
			}
			got, err := s.Context("conv-1", conversation.Budget{Messages: c.messages, Bytes: c.bytes})
			if err != nil || outline(got.Messages()) != c.want {
				t.Errorf("Context = %q, %v; want %q", outline(got.Messages()), err, c.want)
			}
		})
	}
}

func TestContextKeepsOrderAndText(t *testing.T) {
	s := openTemp(t)
	for i := range 4 {
		toolTurn(t, s, "conv-1", fmt.Sprint(i))
	}
	c, err := s.Context("conv-1", conversation.Budget{Messages: 8})
	got := c.Messages()
	if err != nil || len(got) != 8 || c.LeftOut != 2 {
		t.Fatalf("%d messages, %d turns left out, %v", len(got), c.LeftOut, err)
	}
	if got[0].Content != "list files 2" || got[2].Content != "a.txt" || got[3].Content != "one file 2" ||
		got[7].Content != "one file 3" {
		t.Errorf("messages %+v", got)
	}
	if string(got[1].ToolCalls[0].Args) != `{"path":"."}` {
		t.Errorf("args %s", got[1].ToolCalls[0].Args)
	}
}

// summarise stores a summary of what is up to a record of a turn.
func summarise(t *testing.T, s *Store, id, turn, text, throughTurn, throughRecord string) {
	t.Helper()
	put(t, s, "summary", id, "conv-1", turn,
		fmt.Sprintf(`"content":%q,"through_turn_id":%q,"through_record_id":%q,"turns":2,"usage":{"input_tokens":9,"output_tokens":3}`,
			text, throughTurn, throughRecord))
}

// The newest summary comes first, then the turns after what it stands for. What it stands for is kept.
func TestContextBeginsWithTheSummary(t *testing.T) {
	s := openTemp(t)
	for i := range 5 {
		say(t, s, fmt.Sprint("m", i), "conv-1", fmt.Sprint("said ", i))
	}
	texts := func() (out []string) {
		t.Helper()
		c, err := s.Context("conv-1", conversation.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Messages() {
			out = append(out, strings.TrimPrefix(m.Content, conversation.SummaryHeading+"\n\n"))
		}
		return out
	}
	for _, c := range []struct{ text, throughTurn, throughRecord, want string }{
		{"first", turnOf(t, s, 1), lastOf(t, s, 1), "[first said 2 said 3 said 4]"},
		{"second", turnOf(t, s, 3), lastOf(t, s, 3), "[second said 4]"},
		{"of a turn that is not there", "turn-x", lastOf(t, s, 3), "[said 0 said 1 said 2 said 3 said 4]"},
		{"with an end that is not there", turnOf(t, s, 3), "msg-x", "[said 0 said 1 said 2 said 3 said 4]"},
		{"whose last turn went on", turnOf(t, s, 3), lastOf(t, s, 2), "[whose last turn went on said 3 said 4]"},
	} {
		summarise(t, s, "sum-"+c.text, turnOf(t, s, 4), c.text, c.throughTurn, c.throughRecord)
		if got := fmt.Sprint(texts()); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	_, entries, err := s.Show("conv-1")
	if err != nil || len(entries) != 10 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

func turnOf(t *testing.T, s *Store, n int) string { return entryAt(t, s, n).TurnID }
func lastOf(t *testing.T, s *Store, n int) string { return entryAt(t, s, n).ID }

func entryAt(t *testing.T, s *Store, n int) Entry {
	t.Helper()
	_, entries, err := s.Show("conv-1")
	if err != nil {
		t.Fatal(err)
	}
	return entries[n]
}

// A summary comes back as the record that it was, and one that says nothing is refused.
func TestSummaryIsStored(t *testing.T) {
	s := openTemp(t)
	say(t, s, "m1", "conv-1", "hello")
	summarise(t, s, "sum-1", "turn-1", "they greeted", "turn-1", "m1")
	var lines []string
	if err := s.Export(ExportOptions{},
		func(line []byte) error { lines = append(lines, string(line)); return nil }); err != nil {
		t.Fatal(err)
	}
	var got record.Summary
	if err := record.Decode([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Kind != record.KindSummary || got.ID != "sum-1" || got.Content != "they greeted" ||
		got.ThroughTurnID != "turn-1" || got.ThroughRecordID != "m1" || got.Turns != 2 ||
		got.Usage != (record.Usage{InputTokens: 9, OutputTokens: 3}) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{`"content":"","through_turn_id":"t","through_record_id":"r"`,
		`"content":"x","through_record_id":"r"`, `"content":"x","through_turn_id":"t"`} {
		line, err := record.Parse([]byte(`{"v":1,"kind":"summary","id":"sum-2","conversation_id":"conv-1",` + bad +
			`}`))
		if err != nil {
			t.Fatal(err)
		}
		if s.Put(line, "") == nil {
			t.Errorf("stored %s", bad)
		}
	}
}

// Results of tools that cannot be sent whole are not held in memory whole, and the choice is the same as of the whole
// conversation.
func TestContextWithinABudget(t *testing.T) {
	s := openTemp(t)
	var all conversation.Conversation
	for i := range 30 {
		turn, call := fmt.Sprint("turn-", i), fmt.Sprint("call-", i)
		out := strings.Repeat(fmt.Sprintf("line %d\n", i), 900)
		put(t, s, "user", "u-"+turn, "conv-1", turn, `"content":"read it"`)
		put(t, s, "response", "r-"+turn, "conv-1", turn, `"final_text":"","tool_calls":[{"id":"`+call+
			`","name":"file_read","args":{}}]`)
		put(t, s, "tool_result", call, "conv-1", turn,
			fmt.Sprintf(`"tool":"file_read","status":"allowed","success":true,"output":%q`, out))
		put(t, s, "final", "f-"+turn, "conv-1", turn, `"content":"done","stop_reason":"final_text"`)
		all.Turns = append(all.Turns, conversation.Turn{ID: turn,
			Messages: []record.Message{{Role: "user", Content: "read it"},
				{Role: "assistant",
					ToolCalls: []record.CallPart{{ID: call, Name: "file_read", Args: record.Raw("{}")}}},
				{Role: "tool", ToolCallID: call, Content: out}, {Role: "assistant", Content: "done"}}})
	}
	for _, b := range []conversation.Budget{{}, {Tokens: 20_000}, {Tokens: 6_000}, {Tokens: 10}, {Messages: 9},
		{Tokens: 9_000, Messages: 30}} {
		got, err := s.Context("conv-1", b)
		if err != nil {
			t.Fatal(err)
		}
		want := all.Choose(b)
		if fmt.Sprint(got.Messages()) != fmt.Sprint(want.Messages()) || got.LeftOut != 30-len(want.Turns) {
			t.Errorf("%+v: %d messages, want %d; %d left out", b, len(got.Messages()), len(want.Messages()),
				got.LeftOut)
		}
	}
	if got, err := s.Context("conv-1", conversation.Budget{Bytes: 40_000}); err != nil || got.LeftOut == 0 ||
		len(got.Turns) < 20 {
		t.Errorf("%d turns, %d left out, %v", len(got.Turns), got.LeftOut, err)
	}
}
