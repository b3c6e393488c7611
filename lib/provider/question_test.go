package provider

import (
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

func TestQuestion(t *testing.T) {
	warm, cold := 0.9, 0.0
	const streams = `,"stream":true,"stream_options":{"include_usage":true}}`
	c := &chat{endpoint: &endpoint{name: "web"}, model: "preset", temperature: &warm, maxTokens: 100}
	for _, q := range []struct {
		name string
		req  record.Request
		want string
	}{
		{"presets", record.Request{}, `{"model":"preset","messages":[],"temperature":0.9,"max_tokens":100`},
		{"the request goes first, zero too", record.Request{Model: "own", Temperature: &cold}, `{"model":"own","messages":[],"temperature":0,"max_tokens":100`},
		{"a conversation", record.Request{SystemPrompt: "s", Messages: []record.Message{{Role: "user", Content: "u"},
			{Role: "assistant", ToolCalls: []record.CallPart{{ID: "call-1", ProviderCallID: "x", Name: "f", Args: record.Raw(`{"a":1.0}`)}, {ID: "call-2", ProviderCallID: "y", Name: "g", Args: record.Raw(`"{\"a\": "`)},
				{ID: "call-3", Name: "h"}}},
			{Role: "tool", ToolCallID: "call-1", Content: "ok"}, {Role: "tool", ToolCallID: "call-2", Content: "bad", IsError: true},
			{Role: "tool", ToolCallID: "call-3", Content: "error: worse", IsError: true}, {Role: "assistant", Content: ""}}},
			`{"model":"preset","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1.0}"}},{"id":"y","type":"function","function":{"name":"g","arguments":"{\"not_json\":\"{\\\"a\\\": \"}"}},` +
				`{"id":"` + idOf("call-3") + `","type":"function","function":{"name":"h","arguments":"{}"}}]},{"role":"tool","content":"ok","tool_call_id":"x"},` +
				`{"role":"tool","content":"error: bad","tool_call_id":"y"},{"role":"tool","content":"error: worse","tool_call_id":"` + idOf("call-3") + `"},` +
				`{"role":"assistant","content":""}],"temperature":0.9,"max_tokens":100`},
		{"a tool without parameters", record.Request{Tools: []record.Tool{{Name: "time", Description: "d"}}},
			`{"model":"preset","messages":[],"tools":[{"type":"function","function":{"name":"time","description":"d","parameters":{"type":"object","properties":{}}}}],"temperature":0.9,"max_tokens":100`},
	} {
		b, err := c.question(&q.req)
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
		{Role: "assistant", Content: "hm", ToolCalls: []record.CallPart{{ID: "call-1", ProviderCallID: "abc", Name: "f", Args: record.Raw("{}")}},
			Original: &record.Original{Provider: "web", Dialect: "chat", Message: record.Raw(came)}},
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
		{"a refused field", "web", "abc", strings.Replace(strings.Replace(back, `"reasoning_content":"because",`, "", 1), `,"extra_content":{"google":{"thought_signature":"sig"}}`, "", 1),
			map[string]bool{"reasoning_content": true, "extra_content": true}},
	} {
		messages[1].ToolCalls[0].ProviderCallID = c.id
		p := &chat{endpoint: &endpoint{name: c.provider}}
		got, err := p.messages(&record.Request{Messages: messages}, c.without)
		if err != nil || string(got) != `[{"role":"user","content":"u"},`+c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
}

func TestNeighboursOfOneRole(t *testing.T) {
	said := func(text string) record.Message { return record.Message{Role: "assistant", Content: text} }
	call := record.Message{Role: "assistant", ToolCalls: []record.CallPart{{ID: "c", ProviderCallID: "x", Name: "f", Args: record.Raw("{}")}}}
	result := record.Message{Role: "tool", ToolCallID: "c", Content: "r"}
	const called = `"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"x"}`
	for name, c := range map[string]struct {
		in   []record.Message
		want string
	}{
		"users":              {[]record.Message{user("a"), user("b"), user("c")}, `{"role":"user","content":"a\n\nb\n\nc"}`},
		"answers":            {[]record.Message{said("a"), said("b")}, `{"role":"assistant","content":"a\n\nb"}`},
		"an answer and call": {[]record.Message{said("a"), call, result}, `{"role":"assistant","content":"a",` + called},
		"results":            {[]record.Message{call, result, call, result}, `{"role":"assistant","content":null,` + called + `,{"role":"assistant","content":null,` + called},
		"no answer":          {[]record.Message{call, result, user("a")}, `{"role":"assistant","content":null,` + called + `,{"role":"assistant","content":"(this turn ended without an answer)"},{"role":"user","content":"a"}`},
		"nothing to join":    {[]record.Message{user("a"), said("b"), user("c")}, `{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}`},
	} {
		got, err := (&chat{endpoint: &endpoint{}}).messages(&record.Request{Messages: c.in}, nil)
		if err != nil || string(got) != "["+c.want+"]" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestArgumentsThatNoRecordCarries(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for text, object := range map[string]bool{nested(record.MaxDepth - 8): true, nested(record.MaxDepth - 7): false, nested(100000): false, `{"a":9007199254740993}`: false,
		`{"a":1e400}`: false, `{"a":-0.1e-5}`: true, `{"a":[{"b":1,"\u0062":2}]}`: false, "{\"a\":\"\xff\"}": false, `{}],[{}`: false, " \n{\"a\":\n1}\t": true, `{"a":NaN}`: false, "{'a':1}": false} {
		raw, err := arguments(text, keys{})
		if err != nil || (raw[0] == '{') != object {
			t.Errorf("%.60q became %.60s, %v", text, raw, err)
		}
	}
}

// FuzzArguments checks that whatever a model writes can be carried by a record, on one line, and that an object means what
// was written.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", `{"a":1}`, `{"a":`, `{} {}`, `{}],[{}`, `"x"`, "{\"a\":\"\\ud800\"}", "null", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := arguments(text, keys{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		line, err := record.Encode(record.ToolCall{V: 1, Kind: record.KindToolCall, Args: raw})
		if err == nil {
			_, err = record.Parse(line)
		}
		if err != nil || strings.ContainsAny(string(line), "\r\n") {
			t.Fatalf("%q became %s: %v", text, raw, err)
		}
		switch {
		case strings.TrimSpace(text) == "" && string(raw) == "{}":
		case raw[0] == '{':
			a, err := record.Canonical(raw)
			b, err2 := record.Canonical([]byte(strings.TrimSpace(text)))
			if err != nil || err2 != nil || string(a) != string(b) {
				t.Fatalf("%q became %s", text, raw)
			}
		default:
			if s, ok := asText(raw); !ok || s != strings.ToValidUTF8(text, "\ufffd") && !strings.Contains(text, "\xff") && len(s) < len(text) {
				t.Fatalf("%q became %s", text, raw)
			}
		}
	})
}

func TestListAndTest(t *testing.T) {
	cfg := config.Default(t.TempDir())
	cfg.DefaultProvider = "b"
	cfg.Providers = map[string]config.Provider{"c": {Kind: "reliable", Providers: []string{"b", "a"}}, "a": {Kind: "mock", Model: "m"},
		"b": {Kind: "openai-compatible", BaseURL: "https://x.example/v1", Model: "n", APIKeyEnv: "K"}}
	for key, want := range map[string]string{" ": "false", testKey: "true"} {
		b, err := record.Encode(List(cfg, func(string) string { return key }))
		if wants := `[{"name":"a","kind":"mock","model":"m","api_key_set":false,"default":false},{"name":"b","kind":"openai-compatible","model":"n","base_url":"https://x.example/v1","api_key_env":"K",` +
			`"api_key_set":` + want + `,"default":true},{"name":"c","kind":"reliable","model":"b, then a","api_key_set":false,"default":false}]`; err != nil || string(b) != wants {
			t.Errorf("%s, %v", b, err)
		}
	}
	p, err := scripted(t, `{"final_text":"`+strings.Repeat("\\u001b", 100)+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Test(t.Context(), p)
	if err != nil || r.Provider != "local" || r.Kind != "mock" || r.Model != "mock" || r.LatencyMS < 0 || len(r.Text) != maxTestBytes/len(`\x1b`) {
		t.Errorf("%+v, %v", r, err)
	}
	if p, err = scripted(t, `{"error":"auth"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := Test(t.Context(), p); code(err) != CodeAuth {
		t.Error(err)
	}
}
