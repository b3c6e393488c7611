package main

import (
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
)

func TestRan(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"shell", `{"command":"ls -l"}`, "ls -l"}, {"shell", `{"command":"a\nb\nc","timeout_s":3}`, "a … 2 more lines"}, {"shell", `{"command":"a\nb\n"}`, "a … 1 more line"},
		{"file_read", `{"path":"x","from_line":3}`, "x"}, {"file_search", `{"pattern":"p","path":"d"}`, "p in d"}, {"file_search", `{"pattern":"p"}`, "p"},
		{"http", `{"url":"https://example.com"}`, "https://example.com"}, {"time", `{}`, ""}, {"file_list", `{"recursive":true}`, `{"recursive":true}`},
		{"ask_user", `{"question":"?"}`, `{"question":"?"}`}, {"shell", `"{\"command\": "`, `"{\"command\": "`}, {"bash", `{"command":"x"}`, `{"command":"x"}`},
	} {
		if got := ran(c.tool, record.Raw(c.args)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

func TestFolded(t *testing.T) {
	for _, c := range []struct {
		tool, output string
		want         []string
	}{
		{"shell", "", nil}, {"shell", "\n \n", nil}, {"shell", "a\r\nb\n", []string{"a", "b"}},
		{"shell", "1\n2\n3\n4\n5\n6\n", []string{"1", "2", "3", "4", "5", "6"}},
		{"shell", "1\n2\n3\n4\n5\n6\n7\n", []string{"1", "2", "3", "4", "5", "… 2 more lines"}},
		{"shell", "\x1b]0;x\x07\u202e\ta", []string{`\x1b]0;x\x07\u202e    a`}},
	} {
		if got := folded(c.tool, c.output); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.output, got, c.want)
		}
	}
	if got := folded("file_edit", strings.Repeat("+x\n", 300)); len(got) != foldedDiff+1 || got[foldedDiff] != "… 288 more lines" {
		t.Errorf("%q", got)
	}
}

// FuzzFolded: whatever a tool says, what is shown is bounded, and holds no control character.
func FuzzFolded(f *testing.F) {
	f.Add("shell", "a\x1b[2Jb\r\rc\n\u202e\n")
	f.Fuzz(func(t *testing.T, tool, output string) {
		lines := folded(tool, output)
		if len(lines) > foldedDiff+1 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, l := range lines {
			if strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
				t.Fatalf("%q", l)
			}
		}
	})
}
