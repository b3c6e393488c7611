package memory

import (
	"fmt"
	"strings"
	"testing"

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
		"nothing":                  {nil, 0, 0, ""},
		"user only":                {[]rec{{"user", "u", "t", `"content":"hi"`}}, 0, 0, "u"},
		"interrupted before tools": {[]rec{{"user", "u", "t", `"content":"hi"`}, {"response", "r", "t", calls("c1", "c2")}, {"tool_result", "c1", "t", result}}, 0, 0, "u a(c1)(c2) t(c1) t(c2)!"},
		"result before its call":   {[]rec{{"user", "u", "t", `"content":"hi"`}, {"tool_result", "c1", "t", result}, {"response", "r", "t", calls("c1")}}, 0, 0, "u a(c1) t(c1)"},
		"results in other order":   {[]rec{{"response", "r", "t", calls("c1", "c2")}, {"tool_result", "c2", "t", result}, {"tool_result", "c1", "t", result}}, 0, 0, "a(c1)(c2) t(c1) t(c2)"},
		"result without a call":    {[]rec{{"user", "u", "t", `"content":"hi"`}, {"tool_result", "c1", "t", result}}, 0, 0, "u"},
		"denied":                   {[]rec{{"response", "r", "t", calls("c1")}, {"tool_result", "c1", "t", `"tool":"shell","status":"denied","success":false,"error":"no"`}}, 0, 0, "a(c1) t(c1)!"},
		"empty response":           {[]rec{{"user", "u", "t", `"content":"hi"`}, {"response", "r", "t", `"final_text":""`}}, 0, 0, "u"},
		"final repeats":            {[]rec{{"response", "r", "t", `"final_text":"done"`}, {"final", "f", "t", `"content":"done"`}}, 0, 0, "a"},
		"final says more":          {[]rec{{"response", "r", "t", calls("c")}, {"tool_result", "c", "t", result}, {"final", "f", "t", `"content":"stopped"`}}, 0, 0, "a(c) t(c) a"},
		"turns interleaved":        {[]rec{{"user", "u1", "t1", `"content":"1"`}, {"user", "u2", "t2", `"content":"2"`}, {"response", "r1", "t1", calls("c")}, {"response", "r2", "t2", `"final_text":"x"`}, {"tool_result", "c", "t1", result}}, 0, 0, "u a(c) t(c) u a"},
		"newest over budget":       {[]rec{{"user", "u1", "t1", `"content":"1"`}, {"user", "u2", "t2", `"content":"2"`}, {"response", "r2", "t2", calls("c")}}, 1, 1, "u a(c) t(c)!"},
		"oldest over messages":     {[]rec{{"user", "u1", "t1", `"content":"1"`}, {"response", "r1", "t1", `"final_text":"x"`}, {"user", "u2", "t2", `"content":"2"`}, {"user", "u3", "t3", `"content":"3"`}}, 3, 0, "u u"},
		"oldest over bytes":        {[]rec{{"user", "u1", "t1", `"content":"` + strings.Repeat("x", 99) + `"`}, {"user", "u2", "t2", `"content":"2"`}, {"user", "u3", "t3", `"content":"3"`}}, 0, 100, "u u"},
		"exactly within":           {[]rec{{"user", "u1", "t1", `"content":"1"`}, {"user", "u2", "t2", `"content":"2"`}}, 2, 2, "u u"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			say(t, s, "noise", "conv-other", "other conversation")
			for _, r := range c.records {
				put(t, s, r.kind, r.id, "conv-1", r.turn, r.fields)
			}
			got, err := s.Context("conv-1", c.messages, c.bytes)
			if err != nil || outline(got) != c.want {
				t.Errorf("Context = %q, %v; want %q", outline(got), err, c.want)
			}
		})
	}
}

func TestContextKeepsOrderAndText(t *testing.T) {
	s := openTemp(t)
	for i := range 4 {
		toolTurn(t, s, "conv-1", fmt.Sprint(i))
	}
	got, err := s.Context("conv-1", 8, 0)
	if err != nil || len(got) != 8 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	if got[0].Content != "list files 2" || got[2].Content != "a.txt" || got[3].Content != "one file 2" || got[7].Content != "one file 3" {
		t.Errorf("messages %+v", got)
	}
	if string(got[1].ToolCalls[0].Args) != `{"path":"."}` {
		t.Errorf("args %s", got[1].ToolCalls[0].Args)
	}
}
