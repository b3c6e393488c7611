package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"clawsh/lib/terminal"
)

// hostileText holds a piece of each kind of text that a terminal obeys, or that hides what it shows.
var hostileText = map[string]string{
	"escape":    "a\x1b[2J\x1b]0;title\x07b",
	"C0":        "a\x00\x08\x0b\x0c\x0e\x7fb",
	"return":    "a\rb",
	"C1":        "a\u0080\u009b31m\u009d0;x\u009cb",
	"bidi":      "a\u202eb\u202c\u2066c\u2069\u200f\u061cb",
	"invisible": "a\u200b\u200d\u2060\ufeff\u00ad\u115f\u3164b",
	"marks":     "a" + strings.Repeat("\u0301", 40) + "b",
	"tags":      "a\U000e0061\U000e007fb",
	"variation": "a\ufe0f\U000e0100b",
	"lines":     "a\u2028b\u2029c\u0085d",
	"bytes":     "a\xff\xc2\xe2\x80b",
}

// rawAt says what of a text a terminal must not get, "" if nothing: a newline comes as \r\n from a terminal.
func rawAt(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	marks := 0
	for i, r := range text {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		invalid := r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd")
		hidden := unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point)
		if invalid || hidden || marks > 6 || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return fmt.Sprintf("%+q", text[max(0, i-20):min(len(text), i+20)])
		}
	}
	return ""
}

// hostileHome is a home in which a model, files and people have said all of it.
func hostileHome(t *testing.T) (h *home, all string) {
	h = newHome(t)
	for name, s := range hostileText {
		all += s
		if !strings.Contains(s, "\x00") {
			os.WriteFile(filepath.Join(h.dir, "clawsh-workspace", name+s), []byte(s+"\n"), 0o600)
		}
	}
	text := strings.ToValidUTF8(strings.ReplaceAll(all, "\x00", ""), "")
	quoted := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if r < ' ' || r == '"' || r == '\\' {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	fixture := `{"when":".messages[-1].role == \"tool\"","final_text":"` + quoted(text) + `"}
{"when":"true","tool_calls":[{"name":"file_list","args":{}},{"name":"no` + quoted(text) + `","args":{}},{"name":"shell","args":{"command":"echo ` + quoted(text) + `"}}]}
`
	os.WriteFile(filepath.Join(h.dir, ".clawsh", "fixture.jsonl"), []byte(fixture), 0o600)
	os.WriteFile(filepath.Join(h.dir, ".clawsh", "config.toml"),
		[]byte("[providers.models.local]\nkind = \"mock\"\nfixture = \"fixture.jsonl\"\n"), 0o600)
	_, errOut, _ := h.run(t, "clawsh", "-n", text, "--metadata", "k="+text)
	if out, _, _ := h.run(t, "claw-mem", "export"); !strings.Contains(out, "\u202e") {
		t.Fatalf("the memory does not hold it: %s", errOut)
	}
	os.WriteFile(filepath.Join(h.dir, "lines"), []byte(all+"\n"+
		`{"v":1,"kind":"user","id":"u1","content":"`+quoted(text)+`"}`+"\n"+
		`{"v":1,"kind":"tool_call","id":"call-`+quoted(text)+`","tool":"`+quoted(text)+`","args":{"`+quoted(text)+
		`":1}}`+"\n"), 0o600)
	return h, strings.ReplaceAll(all, "\x00", "")
}

// onTerminal runs a program on a terminal of its own and returns what that showed.
func (h *home) onTerminal(t *testing.T, stdin string, words ...string) string {
	t.Helper()
	master, slave, err := openPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := exec.Command(filepath.Join(bin, words[0]), words[1:]...)
	cmd.Env, cmd.Dir = append(h.env, "TERM=xterm"), h.dir
	cmd.Stdout, cmd.Stderr = slave, slave
	if in, err := os.Open(stdin); err == nil {
		cmd.Stdin = in
		defer in.Close()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	screen := newScreen(master)
	if waitFor20(cmd) == errStuck {
		t.Errorf("%q: %v", words, errStuck)
	}
	<-screen.ended
	return screen.text()
}

// TestNothingHostileReachesATerminal: every command of every program, in a home full of hostile text and with hostile
// arguments.
func TestNothingHostileReachesATerminal(t *testing.T) {
	t.Parallel()
	h, all := hostileHome(t)
	shown := 0
	for _, program := range binaries(t) {
		for _, row := range commandTable(t, h, program) {
			name := strings.TrimSpace(program + " " + row.Name)
			if consuming[name] || strings.Contains(name, "clear") || name == "clawsh onboard" {
				continue // what removes the text, and what asks
			}
			words := append(strings.Fields(name), h.fill(t, good[name])...)
			for i, args := range [][]string{words, append(words, "--output-format", "json"),
				append(strings.Fields(name), all), append(words, "--"+all)} {
				stdin := filepath.Join(h.dir, "lines")
				if i > 0 && filters[name] {
					stdin = os.DevNull
				}
				text := h.onTerminal(t, stdin, args...)
				shown += len(text)
				if at := rawAt(text); at != "" {
					t.Errorf("%s (%d) shows %s", name, i, at)
				}
			}
		}
	}
	for _, tool := range []string{"file_list", "file_search"} {
		text := h.onTerminal(t, os.DevNull, "clawsh", "tool", "run", tool, "--json", `{"pattern":"a","path":"."}`)
		if at := rawAt(text); at != "" {
			t.Errorf("%s shows %s", tool, at)
		}
	}
	for _, args := range [][]string{{"clawsh", "session", "export"}, {"claw-mem", "export"}, {"clawsh", "-n", "go"},
		{"clawsh", "-n", "--events", "go"},
		{"clawsh", "-n", "--stream", "go"}, {"clawsh", "memory", "search", "a"}} {
		text := h.onTerminal(t, os.DevNull, args...)
		if at := rawAt(text); at != "" || len(text) < 100 {
			t.Errorf("%v shows %s (%d bytes)", args, at, len(text))
		}
	}
	if shown < 100_000 {
		t.Errorf("only %d bytes were shown", shown)
	}
}

// TestDifferentNamesLookDifferent: no two files that a listing names look alike, where no letters of two alphabets do.
func TestDifferentNamesLookDifferent(t *testing.T) {
	t.Parallel()
	names := []string{"a", " a", "a ", "a  ", "a\u00a0", "é", "e\u0301", "a\\nb", "a\nb", `a\x0ab`, "a\u200b",
		"a\u202e", "a\u034f", "a\ufe0f", "a\xff", `a\xff`,
		"a\u00ff", "a\ufffd", "가", "\u1100\u1161", "が", "か\u3099", "آ", "ا\u0653", "a\t", "a\u2028", "a\U000e0061", "Å",
		"A\u030a", "\u212b", " ", "  "}
	for _, hostile := range hostileText {
		names = append(names, hostile)
	}
	looks := map[string]string{}
	for _, name := range names {
		seen := terminal.Name(name)
		look := strings.Trim(seen, " ")
		if at := rawAt(seen); at != "" || look != seen {
			t.Errorf("%+q is shown as %+q", name, seen)
		}
		// what accents do when they are drawn
		look = strings.NewReplacer("e\u0301", "é", "A\u030a", "Å", "\u212b", "Å", "か\u3099", "が", "\u1100\u1161", "가",
			"ا\u0653", "آ").Replace(look)
		if other, ok := looks[look]; ok {
			t.Errorf("%+q and %+q look alike: %s", name, other, strconv.QuoteToASCII(look))
		}
		looks[look] = name
	}
}
