package chat

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

func TestQuestion(t *testing.T) {
	warm, cold := 0.9, 0.0
	const streams = `,"stream":true,"stream_options":{"include_usage":true}}`
	for _, q := range []struct {
		name string
		req  record.Request
		want string
	}{
		{"presets", record.Request{}, `{"model":"preset","messages":[],"temperature":0.9,"max_tokens":100`},
		{"the request goes first, zero too", record.Request{Model: "own", Temperature: &cold},
			`{"model":"own","messages":[],"temperature":0,"max_tokens":100`},
		{"a conversation", record.Request{SystemPrompt: "s", Messages: []record.Message{{Role: "user", Content: "u"},
			{Role: "assistant",
				ToolCalls: []record.CallPart{{ID: "call-1", ProviderCallID: "x", Name: "f",
					Args: record.Raw(`{"a":1.0}`)}, {ID: "call-2", ProviderCallID: "y", Name: "g",
					Args: record.Raw(`"{\"a\": "`)},
					{ID: "call-3", Name: "h"}}},
			{Role: "tool", ToolCallID: "call-1", Content: "ok"},
			{Role: "tool", ToolCallID: "call-2", Content: "bad", IsError: true},
			{Role: "tool", ToolCallID: "call-3", Content: "error: worse", IsError: true},
			{Role: "assistant", Content: ""}}},
			`{"model":"preset","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1.0}"}},{"id":"y","type":"function","function":{"name":"g","arguments":"{\"not_json\":\"{\\\"a\\\": \"}"}},` +
				`{"id":"` + idOf("call-3") +
				`","type":"function","function":{"name":"h","arguments":"{}"}}]},{"role":"tool","content":"ok","tool_call_id":"x"},` +
				`{"role":"tool","content":"error: bad","tool_call_id":"y"},{"role":"tool","content":"error: worse","tool_call_id":"` + idOf("call-3") + `"},` +
				`{"role":"assistant","content":""}],"temperature":0.9,"max_tokens":100`},
		{"a tool without parameters", record.Request{Tools: []record.Tool{{Name: "time", Description: "d"}}},
			`{"model":"preset","messages":[],"tools":[{"type":"function","function":{"name":"time","description":"d","parameters":{"type":"object","properties":{}}}}],"temperature":0.9,"max_tokens":100`},
	} {
		b, err := Dialect{}.Ask(&dialect.Question{Request: &q.req, Provider: "web",
			Model: cmp.Or(q.req.Model, "preset"), Temperature: cmp.Or(q.req.Temperature, &warm), MaxTokens: 100})
		if err != nil || string(b) != q.want+streams {
			t.Errorf("%s: %s, %v", q.name, b, err)
		}
	}
}

func user(text string) record.Message { return record.Message{Role: "user", Content: text} }

// TestReplay: a message goes back as it came to the provider that sent it, and plain to any other.
func TestReplay(t *testing.T) {
	const came = `{"role":"assistant","content":"hm","reasoning_content":"because","refusal":null,"n":12345678901234567890,"tool_calls":[{"id":"abc","type":"function","function":{"name":"f","arguments":"{ }"},"extra_content":{"google":{"thought_signature":"sig"}}}]}`
	messages := []record.Message{user("u"),
		{Role: "assistant", Content: "hm",
			ToolCalls: []record.CallPart{{ID: "call-1", ProviderCallID: "abc", Name: "f", Args: record.Raw("{}")}},
			Original:  &record.Original{Provider: "web", Dialect: "chat", Message: record.Raw(came)}},
		{Role: "tool", ToolCallID: "call-1", Content: "ok"}}
	const back = `{"role":"assistant","content":"hm","reasoning_content":"because","n":12345678901234567890,"tool_calls":[{"id":"abc","type":"function","function":{"name":"f","arguments":"{ }"},"extra_content":{"google":{"thought_signature":"sig"}}}]},{"role":"tool","content":"ok","tool_call_id":"abc"}]`
	plainBack := `{"role":"assistant","content":"hm","tool_calls":[{"id":"ID","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"ok","tool_call_id":"ID"}]`
	for _, c := range []struct {
		name, provider, id, want string
		without                  map[string]bool
	}{
		{"the same", "web", "abc", back, nil},
		{"another", "other", "abc", strings.ReplaceAll(plainBack, "ID", idOf("call-1")), nil},
		{"calls that it does not have", "web", "xyz", strings.ReplaceAll(plainBack, "ID", "xyz"), nil},
		{"a refused field", "web", "abc",
			strings.Replace(strings.Replace(back, `"reasoning_content":"because",`, "", 1),
				`,"extra_content":{"google":{"thought_signature":"sig"}}`, "", 1),
			map[string]bool{"reasoning_content": true, "extra_content": true}},
	} {
		messages[1].ToolCalls[0].ProviderCallID = c.id
		got, err := messagesOf(&dialect.Question{Request: &record.Request{Messages: messages}, Provider: c.provider,
			Without: c.without})
		if err != nil || string(got) != `[{"role":"user","content":"u"},`+c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
}

func TestNeighboursOfOneRole(t *testing.T) {
	said := func(text string) record.Message { return record.Message{Role: "assistant", Content: text} }
	call := record.Message{Role: "assistant",
		ToolCalls: []record.CallPart{{ID: "c", ProviderCallID: "x", Name: "f", Args: record.Raw("{}")}}}
	result := record.Message{Role: "tool", ToolCallID: "c", Content: "r"}
	const called = `"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"x"}`
	for name, c := range map[string]struct {
		in   []record.Message
		want string
	}{
		"users": {[]record.Message{user("a"), user("b"), user("c")},
			`{"role":"user","content":"a\n\nb\n\nc"}`},
		"answers": {[]record.Message{said("a"), said("b")}, `{"role":"assistant","content":"a\n\nb"}`},
		"an answer and call": {[]record.Message{said("a"), call, result}, `{"role":"assistant","content":"a",` +
			called},
		"results": {[]record.Message{call, result, call, result}, `{"role":"assistant","content":null,` +
			called + `,{"role":"assistant","content":null,` + called},
		"no answer": {[]record.Message{call, result, user("a")}, `{"role":"assistant","content":null,` +
			called + `,{"role":"assistant","content":"(this turn ended without an answer)"},{"role":"user","content":"a"}`},
		"nothing to join": {[]record.Message{user("a"), said("b"), user("c")},
			`{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}`},
	} {
		got, err := messagesOf(&dialect.Question{Request: &record.Request{Messages: c.in}})
		if err != nil || string(got) != "["+c.want+"]" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// FuzzReply: whatever a server streams, what goes back is accepted where messages are built.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":7,"function":{"name":"f","arguments":{"a":[1e400]}},"x":{"y":"z"}}]}}]}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"hm"}]}],"reasoning_details":[{"index":0,"text":"a"}]}}]}
{"choices":[{"delta":{"content":"<think>x"},"finish_reason":"stop"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, text := Dialect{}.Answer(dialect.Limits{Bytes: 64 << 10}), ""
		for line := range bytes.Lines(b) {
			more, err := a.Event("", line)
			if err != nil {
				return
			}
			text += more
		}
		text += a.Rest()
		r, err := a.Reply(text)
		if err != nil || r.Message == nil || !dialect.Fits(r.Message) {
			return
		}
		m := record.Message{Role: "assistant", Content: text, Original: &record.Original{Message: r.Message}}
		if r.Finish == record.FinishStop || r.Finish == record.FinishToolCalls {
			for _, c := range r.Calls {
				m.ToolCalls = append(m.ToolCalls, record.CallPart{ProviderCallID: c.ID, Name: c.Name,
					Args: record.Raw("{}")})
			}
		}
		if _, ok := replay(m, nil); !ok {
			t.Fatalf("does not go back: %s", r.Message)
		}
	})
}
