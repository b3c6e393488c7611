package memory

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"clawsh/lib/envelope"
)

// What is not an older backup is never replaced, whatever is said, and no half of a backup is left.
func TestSave(t *testing.T) {
	path, dir := filled(t), t.TempDir()
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("text", "a text")
	write("empty", "")
	write("short", "SQLite")
	os.Mkdir(filepath.Join(dir, "dir"), 0o700)
	os.Link(path, filepath.Join(dir, "hard"))
	os.Symlink("text", filepath.Join(dir, "link"))
	syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)
	for _, c := range []struct {
		name    string
		replace bool
		code    string
	}{{"new", false, ""}, {"new", false, "exists"}, {"new", true, ""}, {"empty", false, "exists"}, {"empty", true, ""},
		{"text", true, "usage"}, {"text", false, "exists"}, {"short", true, "usage"}, {"pipe", true, "usage"},
		{"dir", true, "usage"}, {"dir", false, "usage"}, {"hard", true, "usage"}, {"link", false, "exists"},
		{"link", true, ""},
		{"no/such", false, "not_found"}, {path, true, "usage"}, {path + "-wal", true, "usage"}} {
		b := Save{Replace: c.replace}
		name := c.name
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		bytes, err := int64(0), b.Name(name)
		if err == nil {
			bytes, err = b.Write(s)
		}
		code := ""
		if err != nil {
			code = envelope.From(err).Code
		}
		if code != c.code || (bytes > 0) != (c.code == "") {
			t.Errorf("%+v: %d bytes, %v", c, bytes, err)
		}
		if c.code == "" && problems(t, name, true) != nil {
			t.Errorf("%+v: %q", c, problems(t, name, true))
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "text")); err != nil || string(text) != "a text" {
		t.Errorf("the file that a link named: %q, %v", text, err)
	}
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".clawsh-backup-") {
			t.Error("left behind:", e.Name())
		}
	}
}
