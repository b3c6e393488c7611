package session

import (
	"errors"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// walk gives a channel the records of a turn, and its final one.
func walk(t *testing.T, ch Channel, lines ...string) (shown bool) {
	t.Helper()
	for _, text := range lines {
		line, err := record.Parse([]byte(text))
		if err == nil && line.Kind() == record.KindFinal {
			var f record.Final
			if err = record.DecodeOpen(line.Bytes(), &f); err == nil {
				shown, err = ch.Send(f, line.Bytes())
			}
		} else if err == nil {
			err = ch.Update(line)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return shown
}

func delta(text string) string { return `{"v":1,"kind":"delta","text":"` + text + `"}` }

func finally(text string) string {
	return `{"v":1,"kind":"final","id":"f","conversation_id":"c","content":"` + text + `","stop_reason":"final_text"}`
}

// TestTerminalStreams: an answer has been shown if all of it was streamed after the last call, and a streamed line is
// ended before anything else is.
func TestTerminalStreams(t *testing.T) {
	for _, c := range []struct {
		draft bool
		lines []string
		out   string
		shown bool
	}{
		{true, []string{delta("a"), delta("b"), finally("ab")}, "ab\n", true},
		{true, []string{delta("a\\n"), finally("a\\n")}, "a\n", true},
		{true, []string{delta("a"), finally("ab")}, "a\n", false},
		{true, []string{finally("")}, "", false},
		{true, []string{delta("let me see"), called, delta("ab"), finally("ab")}, "let me see\n· time\nab\n", true},
		{true, []string{delta("ab"), called, finally("ab")}, "ab\n· time\n", false},
		{true, []string{delta("a"), finally("a"), finally("a")}, "a\n", false}, // of the next turn
		{false, []string{delta("a"), finally("a")}, "", false},
	} {
		var out strings.Builder
		ch := &Terminal{Out: &out, Draft: c.draft,
			progress: progress{to: &out, secrets: secret.New(nil), columns: func() int { return 80 }}}
		ch.before = ch.newline
		shown := walk(t, ch, c.lines...)
		if shown != c.shown || out.String() != c.out {
			t.Errorf("%q: %q, shown %t", c.lines, out.String(), shown)
		}
	}
}

// TestPipe: every record of a turn is written as it came but for secrets, and one whose secrets cannot be taken out is
// not written.
func TestPipe(t *testing.T) {
	var out strings.Builder
	fail := false
	ch := &Pipe{Out: &out, progress: progress{secrets: secret.New(nil)}, Withhold: func(raw []byte) ([]byte, error) {
		if fail {
			return nil, errors.New("no")
		}
		return []byte(strings.ReplaceAll(string(raw), "hunter2", "***")), nil
	}}
	lines := []string{delta("a hunter2"), called, `{"v":1,"kind":"tool_result","id":"call-1","tool":"time"}`,
		finally("hunter2")}
	if !walk(t, ch, lines...) {
		t.Error("the answer was shown, and it is not told")
	}
	if want := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "hunter2", "***"); out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	fail = true
	line, err := record.Parse([]byte(called))
	if err != nil {
		t.Fatal(err)
	}
	if before := out.Len(); ch.Update(line) == nil || out.Len() != before {
		t.Errorf("%q", out.String()[before:])
	}
}
