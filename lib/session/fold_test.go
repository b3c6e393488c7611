package session

import (
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

func TestRan(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"shell", `{"command":"ls -l"}`, "ls -l"}, {"shell", `{"command":"a\nb\nc","timeout_s":3}`, "a … 2 more lines"},
		{"shell", `{"command":"a\nb\n"}`, "a … 1 more line"},
		{"file_read", `{"path":"x","from_line":3}`, "x"}, {"file_search", `{"pattern":"p","path":"d"}`, "p in d"},
		{"file_search", `{"pattern":"p"}`, "p"},
		{"http", `{"url":"https://example.com"}`, "https://example.com"}, {"time", `{}`, ""},
		{"file_list", `{"recursive":true}`, `{"recursive":true}`},
		{"ask_user", `{"question":"?"}`, `{"question":"?"}`}, {"shell", `"{\"command\": "`, `"{\"command\": "`},
		{"bash", `{"command":"x"}`, `{"command":"x"}`},
	} {
		if got := ran(c.tool, record.Raw(c.args)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

func TestFolded(t *testing.T) {
	for _, c := range []struct {
		failed bool
		output string
		want   []string
	}{
		{false, "", nil}, {true, "\n \n", nil}, {false, "a\r\nb\n", []string{"a", "b"}},
		{false, "1\n2\n3\n4\n5\n6\n7\n", []string{"1", "2", "3", "4", "5", "6", "7"}},
		{false, "1\n2\n3\n4\n5\n6\n7\n8\n", []string{"1", "2", "3", "… 2 more lines", "6", "7", "8"}},
		{true, "1\n2\n3\n4\n5\n6\n7\n8\n", []string{"1", "… 2 more lines", "4", "5", "6", "7", "8"}},
		{false, "\x1b]0;x\x07\u202e\ta", []string{`\x1b]0;x\x07\u202e    a`}},
	} {
		if got := folded(foldOf("shell", c.failed), c.output); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.output, got, c.want)
		}
	}
	if got := folded(foldOf("file_edit", false), strings.Repeat("+x\n", 300)); len(got) != 13 ||
		got[9] != "… 288 more lines" {
		t.Errorf("%q", got)
	}
}

// FuzzFolded: whatever a tool says, what is shown is bounded, and holds no control character.
func FuzzFolded(f *testing.F) {
	f.Add("shell", "a\x1b[2Jb\r\rc\n\u202e\n")
	f.Fuzz(func(t *testing.T, tool, output string) {
		lines := folded(foldOf(tool, len(output)%2 == 0), output)
		if len(lines) > 13 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, l := range lines {
			if strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
				t.Fatalf("%q", l)
			}
		}
	})
}

func TestBecameOf(t *testing.T) {
	for _, c := range []struct{ rule, reason, want string }{
		{"path.workspace", "writes a file; refused by the operator", "denied by you"},
		{"path.workspace", "writes a file; needs approval, but got none: wait for an answer: interrupted",
			"interrupted"},
		{"path.workspace", "writes a file; needs approval, but got none: wait for an answer: context deadline exceeded",
			"denied: E"},
		{"path.workspace", "writes a file; needs approval, but got none: wait for an answer: terminated",
			"interrupted"},
		{"cancelled", "the turn was cancelled before this call was decided", "interrupted"},
		{"path.forbidden", "reads interrupted", "denied: E"},
		{"path.workspace", "writes; the file changed during the approval question: read it again, and repeat the call",
			"denied: E"},
	} {
		r := record.ToolResult{Error: "denied: E",
			Verdict: &record.Verdict{Decision: record.Deny, Rule: c.rule, Reason: c.reason}}
		if got := becameOf(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
	if got := becameOf(record.ToolResult{Error: "exit status 1"}); got != "exit status 1" {
		t.Errorf("%q", got)
	}
}

// TestSeveral: results of calls that were open together say of which they are; a duration that nobody noticed is left
// out.
func TestSeveral(t *testing.T) {
	var out strings.Builder
	c := &Terminal{progress: progress{to: &out, secrets: secret.New(nil), columns: func() int { return 60 }}}
	long := "denied: the beginning " + strings.Repeat("x", 100) + " the end"
	for _, text := range []string{
		`{"v":1,"kind":"tool_call","id":"1","tool":"file_read","args":{"path":"a"}}`,
		`{"v":1,"kind":"tool_call","id":"2","tool":"file_read","args":{"path":"b"}}`,
		`{"v":1,"kind":"tool_result","id":"2","tool":"file_read","args":{},"status":"allowed","success":true,"output":"","metadata":{"duration_ms":1230}}`,
		`{"v":1,"kind":"tool_result","id":"1","tool":"file_read","args":{},"status":"denied","success":false,"output":"","error":"` + long + `"}`,
		`{"v":1,"kind":"tool_call","id":"3","tool":"time","args":{}}`,
		`{"v":1,"kind":"tool_result","id":"3","tool":"time","args":{},"status":"allowed","success":true,"output":"","metadata":{"duration_ms":99}}`,
	} {
		line, err := record.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Update(line); err != nil {
			t.Fatal(err)
		}
	}
	want := "· file_read a\n· file_read b\n✓ file_read b 1.2s\n✗ file_read a denied: the beg…xxxxxxxxxxxxxxxxxxxxx the end\n· time\n✓ time\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
