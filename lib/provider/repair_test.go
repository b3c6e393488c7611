package provider

import (
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

func TestRepairArgs(t *testing.T) {
	for _, c := range []struct{ in, want, says string }{
		{"```json\n{\"a\":1}\n```", `{"a":1}`, "code fence"},
		{"```{\"a\":1}```", `{"a":1}`, "code fence"},
		{`"{\"a\":\"b\"}"`, `{"a":"b"}`, "containing JSON"},
		{`"\"{}\""`, `{}`, "containing JSON"},
		{"{\"a\":\"b\nc\td\"}", `{"a":"b\nc\td"}`, "line breaks"},
		{"{\"a\":\"b\x01\"}", `{"a":"b\u0001"}`, "line breaks"},
		{`{"a":[1,2,],}`, `{"a":[1,2]}`, "an extra comma"},
		{"```json\n{\"a\":\"b\nc\",\n}\n```", `{"a":"b\nc"}`,
			"code fence and had unescaped line breaks and had an extra comma"},
		{"", `{}`, "empty"}, {" \n", `{}`, "empty"}, {"null", `{}`, "empty"}, {`""`, `{}`, "empty"},
		// what is not mended: nobody can tell what was meant
		{`{"path": "x", `, "", ""}, {`{"a":1`, "", ""}, {`{"a":1}}`, "", ""}, {`{"a":1} {"b":2}`, "", ""},
		{`{a:1}`, "", ""}, {`{'a':1}`, "", ""},
		{`[1]`, "", ""}, {`7`, "", ""}, {`ls -l`, "", ""}, {`{"a":1,"a":2}`, "", ""},
		{`{"a":9007199254740993}`, "", ""}, {`{,}`, `{}`, "comma"},
		{"```\n{}\n```\n```\n{}\n```", "", ""}, {`{"a":,}`, "", ""}, {"{\"a\":\"\\\n\"}", "", ""},
		{`{"a":"x" // y` + "\n}", "", ""},
	} {
		got, says := repairArgs(c.in)
		if string(got) != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%q: %s, %q; want %s, %q", c.in, got, says, c.want, c.says)
		}
	}
}

func TestRepairCalls(t *testing.T) {
	t.Setenv("X_API_KEY", "sesame-4711-sesame")
	req := &record.Request{Tools: []record.Tool{{Name: "shell"}, {Name: "mcp.look"}, {Name: "file_read"}}}
	for _, c := range []struct{ name, want string }{
		{"shell", "shell"}, {" shell", "shell"}, {"shell ", "shell"}, {"functions.shell", "shell"},
		{"default_api:shell", "shell"}, {"shell()", "shell"},
		{"functions.mcp.look", "functions.mcp.look"}, {"mcp.look", "mcp.look"}, {"shell<|channel|>json", "shell"},
		{"`file_read`", "file_read"},
		{"bash", "bash"}, {"shell; rm", "shell; rm"}, {"x.bash", "x.bash"}, {"", ""}, {"Shell", "Shell"},
		{"my_shell", "my_shell"},
	} {
		resp := &record.Response{ToolCalls: []record.CallPart{{Name: c.name, Args: record.Raw(`{"a":1}`)}}}
		notes := RepairCalls(req, resp, nil)
		if got := resp.ToolCalls[0]; got.Name != c.want || (notes[0] != "") != (c.name != c.want) ||
			string(got.Args) != `{"a":1}` {
			t.Errorf("%q: %+v %q", c.name, got, notes)
		}
	}
	// a key that stood in a form in which it was not seen is not brought to light
	secrets := secret.New([]string{"X_API_KEY=sesame-4711-sesame"})
	hidden := `"{\"command\":\"\\u0073esame-4711-sesame\"}"`
	text, err := record.Encode(hidden)
	if err != nil {
		t.Fatal(err)
	}
	resp := &record.Response{ToolCalls: []record.CallPart{{Name: "shell", Args: text}}}
	if notes := RepairCalls(req, resp, secrets); notes[0] != "" || resp.ToolCalls[0].Args.Kind() != '"' {
		t.Errorf("%q %s", notes, resp.ToolCalls[0].Args)
	}
}

// FuzzRepairArgs: what comes out is an object that a record can carry, and an object that goes in comes out as it was.
func FuzzRepairArgs(f *testing.F) {
	for _, s := range []string{`{"a":"b,}"}`, "```json\n{\"a\":1,}\n```", "\"{\\\"a\\\":\\\"```\\\"}\"",
		"{\"a\":\"\n\"}", `{"a":"\",]"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := repairArgs(text)
		if got != nil && (object(string(got)) == nil || got.Kind() != '{') {
			t.Fatalf("%q became %q", text, got)
		}
		if whole := object(strings.TrimSpace(text)); whole != nil {
			a, err1 := record.Canonical(whole)
			b, err2 := record.Canonical(got)
			if err1 != nil || err2 != nil || string(a) != string(b) {
				t.Fatalf("%q became %q (%v, %v)", text, got, err1, err2)
			}
			if mended, raw, commas := mend(strings.TrimSpace(text)); raw || commas ||
				mended != strings.TrimSpace(text) {
				t.Fatalf("%q would be mended to %q", text, mended)
			}
		}
		if again, _ := repairArgs(string(got)); got != nil && string(again) != string(got) {
			t.Fatalf("%q, then %q", got, again)
		}
	})
}
