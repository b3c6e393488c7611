package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// decided is a line of the gate.
func decided(n int) string {
	return fmt.Sprintf(`{"v":1,"kind":"audit","id":"audit-%d","ts":"2026-11-22T10:00:00.000Z"}`+"\n", n)
}

func logOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCheck: each line is the gate's, torn or foreign, whatever stands around it; and nothing is decided while foreign
// bytes are at the end.
func TestCheck(t *testing.T) {
	torn := strings.TrimSuffix(decided(9)[:30], "\n")
	for _, c := range []struct {
		text                 string
		lines, torn, foreign int
		first                int
		atEnd                int64
	}{
		{"", 0, 0, 0, 0, 0}, {decided(1) + decided(2), 2, 0, 0, 0, 0},
		{decided(1) + torn, 1, 1, 0, 2, 0}, {decided(1) + torn + "\n" + decided(2), 2, 1, 0, 2, 0},
		{decided(1) + "x\n" + decided(2), 2, 0, 1, 2, 0}, {"x\n" + decided(1), 1, 0, 1, 1, 0},
		{decided(1) + "x\n", 1, 0, 1, 2, 2}, {decided(1) + "x", 1, 0, 1, 2, 1}, {decided(1) + "\n", 1, 0, 1, 2, 1},
		{decided(1) + `{"v":1,"kind":"tool_call","id":"audit-1"}` + "\n", 1, 0, 1, 2, 42},
		{decided(1) + strings.Repeat("x", 2*maxTail), 1, 0, 1, 2, 2 * maxTail},
		{decided(1) + strings.Repeat("x", 2*maxTail) + "\n" + decided(2), 2, 0, 1, 2, 0},
		{"\x00\x00\x00", 0, 0, 1, 1, 3}, {decided(1) + "x\n" + torn, 1, 1, 1, 2, 2 + int64(len(torn))},
		{decided(1) + "x\n" + torn + "\n", 1, 1, 1, 2, 0},
	} {
		path := logOf(t, c.text)
		r, err := Check(path)
		if err != nil || r.Lines != c.lines || r.Torn != c.torn || r.Foreign != c.foreign || r.First != c.first ||
			r.AtEnd != c.atEnd {
			t.Errorf("%.90q: %+v, %v", c.text, r, err)
			continue
		}
		log, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = log.Append([]byte(strings.TrimSuffix(decided(3), "\n")), true)
		if refused := c.atEnd > 0; (err != nil) != refused {
			t.Errorf("%.90q: appended: %v", c.text, err)
		}
		log.Close()
		if after, err := Check(path); err != nil || err == nil && c.atEnd == 0 && after.Lines != c.lines+1 ||
			c.atEnd > 0 && after.Lines != c.lines {
			t.Errorf("%.90q, after: %+v, %v", c.text, after, err)
		}
	}
}

// TestMend: foreign bytes at the end are moved, not lost, and nothing else is; then calls are decided again.
func TestMend(t *testing.T) {
	for _, foreign := range []string{"x", "x\n", "a\nb\n", strings.Repeat("x", 2*maxTail) + "\n", "\x00"} {
		head := decided(1) + "between\n" + decided(2)
		path := logOf(t, head+foreign)
		aside := path + ".foreign"
		r, err := Mend(path, aside)
		if err != nil || r.MovedTo != aside || r.AtEnd != int64(len(foreign)) {
			t.Fatalf("%.20q: %+v, %v", foreign, r, err)
		}
		kept, _ := os.ReadFile(path)
		moved, _ := os.ReadFile(aside)
		if string(kept) != head || !strings.HasSuffix(string(moved), foreign) {
			t.Errorf("%.20q: kept %q, moved %.40q", foreign, kept, moved)
		}
		if again, err := Mend(path, aside); err != nil || again.MovedTo != "" || again.Foreign != 1 {
			t.Errorf("%.20q, again: %+v, %v", foreign, again, err)
		}
	}
	path := filepath.Join(t.TempDir(), "none")
	for name, look := range map[string]func() (*Report, error){"check": func() (*Report, error) { return Check(path) },
		"mend": func() (*Report, error) { return Mend(path, path+".foreign") }} {
		if r, err := look(); err != nil || r.Lines != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s makes a log", name)
		}
	}
}

// FuzzCheck: whatever is behind a line of the gate, all bytes are accounted for, and a mended log takes a line.
func FuzzCheck(f *testing.F) {
	f.Add("x\n")
	f.Add(`{"v":1,"kind":"audit","id":"audit-`)
	f.Add("\n\n")
	f.Add("\n{") // was repaired by nothing: an append saw a foreign line, and Mend a torn one of the gate
	f.Fuzz(func(t *testing.T, tail string) {
		path := logOf(t, decided(1)+tail)
		before, err := Check(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Mend(path, path+".foreign")
		if err != nil || (r.MovedTo != "") != (before.AtEnd > 0) {
			t.Fatalf("%+v, %+v, %v", before, r, err)
		}
		log, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if err := log.Append([]byte(strings.TrimSuffix(decided(2), "\n")), false); err != nil {
			t.Fatalf("%q: %v", tail, err)
		}
		if after, err := Check(path); err != nil || after.AtEnd != 0 || after.Lines < 2 {
			t.Fatalf("%q: %+v, %v", tail, after, err)
		}
	})
}
