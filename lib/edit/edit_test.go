package edit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func to(old, new string) Edit  { return Edit{Old: old, New: &new} }
func all(old, new string) Edit { return Edit{Old: old, New: &new, All: true} }

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, text string
		edits      []Edit
		want       string
		places     int
	}{
		{"one", "a\nb\nc\n", []Edit{to("b", "B")}, "a\nB\nc\n", 1},
		{"in order, each in what the one before left", "a\nb\n", []Edit{to("a", "x"), to("x\nb", "y")}, "y\n", 2},
		{"all", "x x x", []Edit{all("x", "y")}, "y y y", 3},
		{"all, overlapping: from the left", "aaa", []Edit{all("aa", "b")}, "ba", 1},
		{"delete", "a\nb\n", []Edit{to("a\n", "")}, "b\n", 1},
		{"CRLF stays, though the model sends newlines", "a\r\nb\r\nc\r\n", []Edit{to("a\nb\n", "x\ny\nz\n")},
			"x\r\ny\r\nz\r\nc\r\n", 1},
		{"CRLF: a single line becomes two", "a\r\nb\r\n", []Edit{to("b", "b\nc")}, "a\r\nb\r\nc\r\n", 1},
		{"newlines stay, though the model sends CRLF", "a\nb\n", []Edit{to("a\r\nb\r\n", "x\r\ny\r\n")}, "x\ny\n", 1},
		{"mixed: the exact spelling goes first", "a\nb\r\nc\nd\n", []Edit{to("c\nd", "C\nD")}, "a\nb\r\nC\nD\n", 1},
		{"mixed: a line of the other kind is found", "a\nb\r\nc\r\nd\ne\nf\n", []Edit{to("b\nc", "B\nC")},
			"a\nB\r\nC\r\nd\ne\nf\n", 1},
		{"the last newline stays missing", "a\nb", []Edit{to("b\n", "c\n")}, "a\nc", 1},
		{"the last newline stays missing, CRLF", "a\r\nb", []Edit{to("a\nb\n", "c\nd\n")}, "c\r\nd", 1},
		{"a byte-order mark stays", "\ufeffa\nb\n", []Edit{to("a\n", "x\n")}, "\ufeffx\nb\n", 1},
	} {
		got, n, err := Apply(c.text, c.edits)
		if err != nil || got != c.want || n != c.places {
			t.Errorf("%s: %q, %d, %v", c.name, got, n, err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	text := "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"
	for _, c := range []struct {
		name  string
		edits []Edit
		want  []string
	}{
		{"no edits", nil, []string{"no edits"}},
		{"too many", make([]Edit, 101), []string{"at most 100"}},
		{"empty old", []Edit{to("", "x")}, []string{"old is empty", "file_write creates a file"}},
		{"new is missing", []Edit{{Old: "a"}}, []string{"new is missing"}},
		{"the same", []Edit{to("a", "a")}, []string{"the same"}},
		{"back and forth", []Edit{to("func a", "func x"), to("func x", "func a")}, []string{"change nothing"}},
		{"not unique", []Edit{to("return", "x")}, []string{"occurs 2 times, at lines 2, 6", "set all"}},
		{"overlapping", []Edit{to("\n}\n\n", "x"), to("zz", "y")}, []string{"edit 2 of 2", "none was made"}},
		{"white space", []Edit{to("func b() {\n    return 2\n}", "x")},
			[]string{"line 5 differs from it only in white space", "     6\t\treturn 2"}},
		{"nearest", []Edit{to("func b() int {\n\treturn 3\n}", "x")},
			[]string{"the nearest lines are", "     5\tfunc b() {"}},
		{"nothing like it", []Edit{to("import os", "x")}, []string{"nor anything similar", "7 lines"}},
	} {
		got, n, err := Apply(text, c.edits)
		if err == nil || got != text || n != 0 {
			t.Errorf("%s: %q, %d, %v", c.name, got, n, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v\nwant %q", c.name, err, w)
			}
		}
	}
	if _, _, err := Apply("aaa", []Edit{to("aa", "b")}); err == nil ||
		!strings.Contains(err.Error(), "occurs 2 times") {
		t.Errorf("matches that overlap: %v", err)
	}
	if _, _, err := Apply("", []Edit{to("a", "b")}); err == nil || !strings.Contains(err.Error(), "the file is empty") {
		t.Errorf("an empty file: %v", err)
	}
}

// TestErrorsAreBounded: whatever is searched for in whatever file, what is said about it is short, and soon.
func TestErrorsAreBounded(t *testing.T) {
	text := strings.Repeat("the quick brown fox\n", 30_000)
	old := strings.Repeat("the slow brown fox\n", 3_000)
	_, _, err := Apply(text, []Edit{to(old, "x")})
	if err == nil || len(err.Error()) > 4096 {
		t.Errorf("%d bytes", len(err.Error()))
	}
	if _, _, err = Apply(strings.Repeat("x", 1<<20), []Edit{to("y", "x")}); err == nil || len(err.Error()) > 4096 {
		t.Errorf("%v", err)
	}
}

// TestWorkIsBounded: edits that double each other's text, and lines of very many words, take no memory and no time to
// speak of.
func TestWorkIsBounded(t *testing.T) {
	var edits []Edit
	for range 40 {
		edits = append(edits, all("a", "bb"), all("b", "aa"))
	}
	if got, n, err := Apply("a", edits); err == nil || got != "a" || n != 0 ||
		!strings.Contains(err.Error(), "would add more than") {
		t.Errorf("%d bytes, %d, %v", len(got), n, err)
	}
	begun := time.Now()
	have, want := strings.Repeat(strings.Repeat("a b ", 160)+"\n", 1600),
		strings.Repeat(strings.Repeat("c d ", 160)+"\n", 2600)
	if _, _, err := Apply(have, []Edit{to(want, "")}); err == nil || time.Since(begun) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func TestDiff(t *testing.T) {
	if d := Diff("a/f", "b/f", "a\n", "a\n"); d != "" {
		t.Errorf("no change: %q", d)
	}
	want := "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
	if d := Diff("a/f", "b/f", "a\nb\n", "a\nc\n"); d != want {
		t.Errorf("%q", d)
	}
	if d := Bounded("one\ntwo\nthree\n", 6); d != "one\n… 2 more lines of this diff\n" {
		t.Errorf("%q", d)
	}
}

// FuzzApply: all or nothing, and the diff that is shown makes the one text of the other.
func FuzzApply(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x", "c\n", "", false)
	f.Add("a\r\nb\r\n", "a\nb", "c", "c", "d\ne", true)
	f.Add("x", "x\n", "y\n", "y", "", false)
	f.Fuzz(func(t *testing.T, text, old1, new1, old2, new2 string, every bool) {
		edits := []Edit{{Old: old1, New: &new1, All: every}, {Old: old2, New: &new2}}
		got, n, err := Apply(text, edits)
		if err != nil {
			if got != text || n != 0 {
				t.Fatalf("an error, and a change: %q", got)
			}
			return
		}
		one, _, err := Apply(text, edits[:1])
		if err != nil {
			t.Fatalf("both together are made, the first alone is not: %v", err)
		}
		if two, _, err := Apply(one, edits[1:]); got != text && (err != nil || two != got) {
			t.Fatalf("%q, in two steps %q, %v", got, two, err)
		}
		if back, ok := patch(text, Diff("a", "b", text, got)); !ok || back != got {
			t.Fatalf("the diff makes %q, not %q", back, got)
		}
	})
}

// patch applies a unified diff, as this package writes it.
func patch(text, diff string) (string, bool) {
	lines := strings.SplitAfter(diff, "\n")
	if len(lines) < 3 {
		return "", false
	}
	var out strings.Builder
	rest, line := text, 1
	for i := 2; i < len(lines); i++ {
		l := lines[i]
		if l == "" {
			continue
		}
		body := l[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\ No newline`) {
			body = strings.TrimSuffix(body, "\n")
		}
		switch l[0] {
		case '@':
			from := 0
			for _, c := range l[len("@@ -"):] {
				if c < '0' || c > '9' {
					break
				}
				from = from*10 + int(c-'0')
			}
			for ; line < from; line++ {
				end := strings.IndexByte(rest, '\n') + 1
				out.WriteString(rest[:end])
				rest = rest[end:]
			}
		case ' ', '-':
			if !strings.HasPrefix(rest, body) {
				return "", false
			}
			rest = rest[len(body):]
			if line++; l[0] == ' ' {
				out.WriteString(body)
			}
		case '+':
			out.WriteString(body)
		}
	}
	return out.String() + rest, true
}

// TestPatchTakesIt: the program that everybody applies diffs with takes ours.
func TestPatchTakesIt(t *testing.T) {
	path, err := exec.LookPath("patch")
	if err != nil {
		t.Log("patch is not installed: the fuzz target's own reader alone is used")
		return
	}
	old, now := "a\nb\nc\nd", "a\nB\nc\nd\ne\n"
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, file)
	cmd.Stdin = strings.NewReader(Diff("a/f", "b/f", old, now))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, _ := os.ReadFile(file); string(got) != now {
		t.Errorf("%q", got)
	}
}
