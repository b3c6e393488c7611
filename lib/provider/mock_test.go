package provider

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

func scripted(t testing.TB, fixture string) (Provider, error) {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default(dir)
	if fixture != "" {
		os.WriteFile(filepath.Join(dir, "f.jsonl"), []byte(fixture), 0o600)
		cfg.Providers["local"] = config.Provider{Kind: "mock", Fixture: "f.jsonl"}
	}
	return New(cfg, "local", Options{Getenv: os.Getenv,
		wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
}

func TestFixturesThatAreRefused(t *testing.T) {
	for fixture, want := range map[string]string{
		"{}":                                "f.jsonl:1: no outcome",
		`{"final_text":"a","error":"auth"}`: "want only one",
		`{"final_text":"a"}` + "\nnope":     "f.jsonl:2: ",
		`{"final_txt":"a"}`:                 `unknown field "final_txt"`,
		`{"error":"magic"}`:                 "want timeout, network, auth or rate_limit",
		`{"when":"][","final_text":"a"}`:    "when:",
		`{"final_text_jq":"nope("}`:         "final_text_jq:",
		" \n":                               "f.jsonl:1: no steps",
		`{"tool_calls":[]}`:                 "tool_calls is empty",
		`{"tool_calls":[{"name":""}]}`:      "a call has no name",
		`{"tool_calls":[{"nam":"f"}]}`:      `unknown field`,
		`{"tool_calls":[{"name":"f","args":{"a":1,"a":2}}]}`: "duplicate",
		`{"final_text":"a","final_text_jq":"."}`:             "want only one",
		`{"tool_calls":[{"name":"f"}],"error":"auth"}`:       "want only one",
		`{"final_text":"a","delay_ms":-1}`:                   "delay_ms",
		`{"final_text":"a","delay_ms":9223372036854775807}`:  "delay_ms",
		`{"final_text":"a","usage":{"input_tokens":-1}}`:     "usage",
		`{"final_text_jq":"import \"x\" as x; 1"}`:           "final_text_jq:",
		`{"when":"env.HOME|","final_text":1}`:                "f.jsonl:1: ",
	} {
		if _, err := scripted(t, fixture); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", fixture, err, want)
		}
	}
}

func TestStepsFollowTheConversation(t *testing.T) {
	p, err := scripted(t, `{"when":".messages[-1].content == \"never\"","final_text":"never"}
{"tool_calls":[{"name":"a"},{"name":"b","args":"broken {"}],"delay_ms":5000}
{"final_text_jq":"\"said \" + .messages[-1].content"}
{"error":"rate_limit"}
`)
	if err != nil {
		t.Fatal(err)
	}
	chat := func(m ...record.Message) (*record.Response, error) {
		return p.Chat(t.Context(),
			&record.Request{Messages: append([]record.Message{{Role: "user", Content: "old"}, {Role: "assistant"},
				{Role: "user", Content: "x"}}, m...)}, nil)
	}
	r, err := chat()
	if err != nil || len(r.ToolCalls) != 2 || string(r.ToolCalls[0].Args) != "{}" ||
		string(r.ToolCalls[1].Args) != `"broken {"` {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = chat(record.Message{Role: "assistant"}, record.Message{Role: "tool", Content: "42"}); err != nil ||
		r.FinalText != "said 42" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err = chat(record.Message{Role: "assistant"}, record.Message{Role: "assistant"}); err == nil ||
		err.(*Error).Code != dialect.CodeRateLimit {
		t.Error(err)
	}
	if _, err = chat(record.Message{Role: "assistant"}, record.Message{Role: "assistant"},
		record.Message{Role: "assistant"}); err == nil || !strings.Contains(err.Error(), "3 of its 4 steps") {
		t.Error(err)
	}
}

func TestBuiltinScript(t *testing.T) {
	p, err := scripted(t, "")
	if err != nil {
		t.Fatal(err)
	}
	list := []record.Tool{{Name: "file_list"}}
	question := record.Message{Role: "user", Content: "What files are there?"}
	for _, c := range []struct {
		req  record.Request
		want string
	}{
		{record.Request{Messages: []record.Message{question}}, "mock model"},
		{record.Request{Messages: []record.Message{{Role: "user", Content: "hello"}}, Tools: list}, "You said: hello"},
		{record.Request{Messages: []record.Message{question, {Role: "assistant"}, {Role: "tool", Content: "a.txt"}},
			Tools: list}, "a.txt"},
		{record.Request{Messages: []record.Message{question, {Role: "assistant"},
			{Role: "tool", Content: "denied", IsError: true}}, Tools: list}, "but: denied"},
		{record.Request{}, "mock model"},
	} {
		var deltas string
		r, err := p.Chat(t.Context(), &c.req, func(s string) error { deltas += s; return nil })
		if err != nil || !strings.Contains(r.FinalText, c.want) || !strings.Contains(r.FinalText, "mock") ||
			deltas != r.FinalText {
			t.Errorf("%+v, %v, deltas %q", r, err, deltas)
		}
	}
	r, err := p.Chat(t.Context(), &record.Request{Messages: []record.Message{question}, Tools: list}, nil)
	if err != nil || len(r.ToolCalls) != 1 || r.ToolCalls[0].Name != "file_list" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTour walks through testdata/mock/tour.jsonl, which shows every kind of step; the file is found beside the
// configuration.
func TestTour(t *testing.T) {
	cfg := config.Default(t.TempDir())
	cfg.File = filepath.Join("..", "..", "testdata", "mock", "config.toml")
	cfg.Providers["tour"] = config.Provider{Kind: "mock", Fixture: "tour.jsonl"}
	w := &waits{}
	p, err := New(cfg, "tour", Options{wait: w.wait})
	if err != nil {
		t.Fatal(err)
	}
	user := func(s string) record.Message { return record.Message{Role: "user", Content: s} }
	tool := func(s string, bad bool) []record.Message {
		return []record.Message{{Role: "assistant"}, {Role: "tool", Content: s, IsError: bad}}
	}
	for _, c := range []struct {
		messages    []record.Message
		text, calls string
		usage       record.Usage
	}{
		{[]record.Message{user("what files?")}, "", `file_list {"path":"."}`,
			record.Usage{InputTokens: 3, OutputTokens: 6}},
		{append([]record.Message{user("so")}, tool("a.txt", false)...), "The tool said: a.txt", "",
			record.Usage{InputTokens: 3, OutputTokens: 5}},
		{append([]record.Message{user("so")}, tool("denied", true)...), "The tool failed: denied", "",
			record.Usage{InputTokens: 3, OutputTokens: 6}},
		{[]record.Message{user("broken")}, "I write what is no JSON.", `file_read "{\"path\": "`,
			record.Usage{InputTokens: 2, OutputTokens: 12}},
		{[]record.Message{user("slow")}, "late", "", record.Usage{InputTokens: 7, OutputTokens: 1}},
	} {
		r, err := p.Chat(t.Context(), &record.Request{Messages: c.messages}, nil)
		if err != nil {
			t.Errorf("%v: %v", c.messages, err)
			continue
		}
		calls := ""
		for _, call := range r.ToolCalls {
			calls += call.Name + " " + string(call.Args)
		}
		if r.FinalText != c.text || calls != c.calls || r.Usage != c.usage {
			t.Errorf("%v: %q, %s, %+v", c.messages, r.FinalText, calls, r.Usage)
		}
	}
	if _, err := p.Chat(t.Context(), &record.Request{Messages: []record.Message{user("down")}},
		nil); code(err) != dialect.CodeNetwork || len(w.pauses) != 1 || w.pauses[0] != 5*time.Second {
		t.Errorf("%v, pauses %v", err, w.pauses)
	}
	if _, err := p.Chat(t.Context(), &record.Request{Messages: []record.Message{user("?")}},
		nil); code(err) != dialect.CodeConfig || !strings.Contains(err.Error(), "0 of its 7 steps") {
		t.Error(err)
	}
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ step, text, fails string }{
		{`{"final_text_jq":"{b:1,a:[null]}"}`, `{"a":[null],"b":1}`, ""},
		{`{"final_text_jq":"null"}`, "null", ""},
		{`{"final_text_jq":"\"a\",\"b\""}`, "a", ""},
		{`{"final_text_jq":"env | length"}`, "0", ""},
		{`{"final_text_jq":"9007199254740993"}`, "9007199254740993", ""},
		{`{"when":"empty","final_text":"x"}`, "", "0 of its 1 step"},
		{`{"when":"null","final_text":"x"}`, "", "0 of its 1 step"},
		{`{"when":"0","final_text":"x"}`, "x", ""},
		{`{"final_text_jq":"empty"}`, "", "f.jsonl:1: final_text_jq: the expression yields nothing"},
		{`{"final_text_jq":".messages[0].content.x"}`, "", "f.jsonl:1: final_text_jq: "},
		{`{"when":"error(\"no\")","final_text":"x"}`, "", "f.jsonl:1: when: "},
		{`{"when":"halt_error","final_text":"x"}`, "", "f.jsonl:1: when: "},
		{`{"final_text_jq":"last(repeat(1))"}`, "", "longer than 100ms"},
		{`{"when":"def f: f; f","final_text":"x"}`, "", "longer than 100ms"},
		{`{"final_text_jq":"\"x\" * 2000000"}`, "", "max_response_bytes"},
	} {
		p, err := scripted(t, c.step)
		if err != nil {
			t.Errorf("%s: %v", c.step, err)
			continue
		}
		r, err := p.Chat(t.Context(), &record.Request{Messages: []record.Message{{Role: "user", Content: "q"}}}, nil)
		if c.fails == "" && (err != nil || r.FinalText != c.text) || c.fails != "" &&
			(err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %+v, %v", c.step, r, err)
		}
	}
}

func TestMockIsCancelledAndStreams(t *testing.T) {
	p, err := scripted(t, `{"final_text":"äöü€😀äöü€😀"}`)
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	r, err := p.Chat(t.Context(), &record.Request{}, func(s string) error { pieces = append(pieces, s); return nil })
	if err != nil || strings.Join(pieces, "") != r.FinalText || len(pieces) < 2 || len(pieces) > maxPieces {
		t.Errorf("%q, %v", pieces, err)
	}
	for _, s := range pieces {
		if !utf8.ValidString(s) {
			t.Errorf("a character was cut: %q", pieces)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Chat(ctx, &record.Request{}, nil); code(err) != dialect.CodeCancelled {
		t.Error(err)
	}
	cfg := config.Default(t.TempDir())
	cfg.Providers["local"] = config.Provider{Kind: "mock", Fixture: "missing.jsonl"}
	if _, err := New(cfg, "local", Options{}); code(err) != dialect.CodeConfig ||
		!strings.Contains(err.Error(), "missing.jsonl") {
		t.Error(err)
	}
}

func TestBuiltinScriptUnderstandsWords(t *testing.T) {
	for question, want := range map[string]bool{"What files are in this project?": true, "List!": true,
		"show the FOLDER": true, "directories?": true,
		"my profile": false, "listen to me": false, "filed": false, "": false} {
		if got := asksForFiles(question); got != want {
			t.Errorf("%q: %t", question, got)
		}
	}
}

// FuzzFixture checks that no fixture brings the parser down, and that what it accepts has an outcome.
func FuzzFixture(f *testing.F) {
	f.Add(`{"final_text":"a"}`)
	f.Add(`{"when":".x","tool_calls":[{"name":"a","args":{}}],"usage":{"input_tokens":1,"output_tokens":2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := parseFixture("f", []byte(text))
		for _, s := range steps {
			if err == nil && s.FinalText == nil && s.text == nil && s.ToolCalls == nil && s.Error == "" {
				t.Fatalf("%q: a step without outcome", text)
			}
		}
	})
}
