package approval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/record"
)

func call(tool, args string) record.ToolCall {
	return record.ToolCall{Tool: tool, Args: record.Raw(args)}
}

// TestShow: a script is shown by lines and a change as a diff; where that would hide a character, the arguments are
// shown as well.
func TestShow(t *testing.T) {
	for _, c := range []struct{ tool, args, text, diff string }{
		{"shell", `{"command":"ls\npwd","timeout_s":2.5}`, "  command:\n    ls\n    pwd\n  timeout_s: 2.5\n", ""},
		{"shell", `{"command":"ls "}`, "  args: {\"command\":\"ls \"}\n", ""},
		{"shell", `{"command":"a\u202eb"}`, "  args: {\"command\":\"a\\u202eb\"}\n", ""},
		{"shell", `{"command":""}`, "  args: {\"command\":\"\"}\n", ""},
		{"shell", `{"command":"ls","sandbox":"off"}`, "  args: {\"command\":\"ls\",\"sandbox\":\"off\"}\n", ""},
		{"shell", `{"command":"ls","command":"rm"}`, "  args: {\"command\":\"ls\",\"command\":\"rm\"}\n", ""},
		{"http", `{"url":"x"}`, "  args: {\"url\":\"x\"}\n", ""},
		{"file_write", overwrite, "",
			"    --- file.txt, now\n    +++ file.txt\n    @@ -1,2 +1,2 @@\n     one\n    -two\n    +three\n"},
		{"file_write", `{"path":"new","content":"a\n"}`, "",
			"    --- new file\n    +++ new\n    @@ -0,0 +1,1 @@\n    +a\n"},
		{"file_write", `{"path":"new","content":""}`, "", "    new file new, empty\n"},
		{"file_write", `{"path":"file.txt","content":"one\ntwo\n"}`, "",
			"    nothing changes in file.txt\n    (unchanged: 2 other lines)\n"},
		{"file_write", `{"path":"file.txt","mode":"append","content":"x\n"}`, "",
			"    --- file.txt, now\n    +++ file.txt\n    @@ -1,2 +1,3 @@\n     one\n     two\n    +x\n"},
		{"file_write", `{"path":"new","content":"a \n"}`, "  args: {\"path\":\"new\",\"content\":\"a \\n\"}\n",
			"    --- new file\n    +++ new\n    @@ -0,0 +1,1 @@\n    +a \n"},
		{"file_write", `{"path":"new"}`, "  args: {\"path\":\"new\"}\n", ""},
		{"file_write", `{"path":"/etc/passwd","content":""}`, "  args: {\"path\":\"/etc/passwd\",\"content\":\"\"}\n",
			"  /etc/passwd: it is outside the workspace, so there is no diff\n"},
		{"file_edit", `{"path":"file.txt","edits":[{"old":"three","new":"x"}]}`, "  args: {",
			"  this edit will fail: "},
	} {
		s := show(home(t), call(c.tool, c.args))
		if failing := strings.HasSuffix(c.diff, "fail: "); failing {
			s.text, s.diff = s.text[:min(len(s.text), len(c.text))], s.diff[:min(len(s.diff), len(c.diff))]
		}
		if s.text != c.text || s.diff != c.diff || !s.still() {
			t.Errorf("%s %s: %q, %q", c.tool, c.args, s.text, s.diff)
		}
	}
	large := fmt.Sprintf(`{"path":"new","content":%q}`, strings.Repeat("x\n", maxShown))
	if s := show(home(t), call("file_write", large)); !strings.Contains(s.diff, "new: the diff has ") ||
		!strings.Contains(s.text, "args: ") {
		t.Errorf("%.100q, %q", s.text, s.diff)
	}
}

// TestPresent: nothing but a text file of the workspace is compared.
func TestPresent(t *testing.T) {
	cfg := home(t)
	dir := cfg.WorkspaceDir
	for name, make := range map[string]func(path string) error{
		"outside":   func(p string) error { return os.Symlink("/etc/passwd", p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"binary":    func(p string) error { return os.WriteFile(p, []byte("a\x00b"), 0o600) },
		"latin":     func(p string) error { return os.WriteFile(p, []byte("\xe9"), 0o600) },
		"large":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "large"), int64(cfg.Limits.MaxFileBytes)+1); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"outside", "directory", "binary", "latin", "large", "../x", "/etc/passwd",
		"file.txt/x"} {
		if text, exists, err := present(cfg, path); err == nil || text != "" || exists {
			t.Errorf("%s: %q, %t, %v", path, text, exists, err)
		}
	}
	if text, exists, err := present(cfg, filepath.Join(dir, "file.txt")); text != "one\ntwo\n" || !exists ||
		err != nil {
		t.Errorf("%q, %t, %v", text, exists, err)
	}
}

func TestIdle(t *testing.T) {
	cfg := home(t)
	for args, want := range map[string]bool{
		`{"path":"file.txt","edits":[{"old":"three","new":"x"}]}`:    true,
		`{"path":"file.txt","edits":[{"old":"o","new":"x"}]}`:        true,
		`{"path":"file.txt","edits":[{"old":"two","new":"x"}]}`:      false,
		`{"path":"/etc/passwd","edits":[{"old":"three","new":"x"}]}`: false,
		`{"path":"file.txt","edits":7}`:                              false,
	} {
		if got := Idle(cfg, call("file_edit", args)); got != want {
			t.Errorf("%s: %t", args, got)
		}
		if Idle(cfg, call("file_write", args)) {
			t.Errorf("file_write %s is idle", args)
		}
	}
}

// TestTerminalText: the head is told again where the question does not fit on the screen, and colours are for the diff
// alone.
func TestTerminalText(t *testing.T) {
	q := question(request(home(t), "file_write", overwrite),
		shown{text: "  args: x\n    +not a diff\n", diff: "    +a\n    -b\n     c\n", still: still})
	text := Terminal{Colours: true}.text(q, 100, 80)
	for _, part := range []string{"  tool: file_write\n", "  risk: medium\n", "    +not a diff\n",
		"\x1b[32m    +a\x1b[0m\n", "\x1b[31m    -b\x1b[0m\n", "     c\n", "  y: yes, once\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
	if strings.Contains(text, "  a: ") || strings.Contains(text, "(above") ||
		!strings.HasSuffix(text, "Approve? [y/N] ") {
		t.Errorf("%q", text)
	}
	if text = (Terminal{}).text(q, 5, 80); strings.Contains(text, "\x1b") ||
		!strings.HasSuffix(text,
			"  (above: 5 rows and 44 bytes of arguments for file_write, risk medium: writes)\nApprove? [y/N] ") {
		t.Errorf("%q", text)
	}
	if text = (Terminal{}).text(Question{Head: "rule\n", Prompt: "Write? ", Answers: writings()}, 1,
		80); text != "rule\nWrite? " {
		t.Errorf("%q", text)
	}
}

func TestAgain(t *testing.T) {
	for answers, want := range map[*[]Answer]string{new(approvals(true)): "  Answer y, s, a or n; ? explains.\nQ",
		new(approvals(false)): "  Answer y, s or n; ? explains.\nQ",
		new(writings()):       "  Answer y or n; ? explains.\nQ"} {
		ask := again(*answers, "Q")
		if got := ask("maybe"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := ask("?"); strings.Count(got, "\n") != len(*answers) || !strings.HasSuffix(got, "\nQ") {
			t.Errorf("%q", got)
		}
	}
}
