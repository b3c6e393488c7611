package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/envelope"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "odd name?%&#+.sqlite")
	for range 2 {
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		say(t, s, "1", "c", "hello")
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%q: %v %v", suffix, info.Mode(), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil { // as a restored copy might be: Open tightens it
			t.Fatal(err)
		}
	}
}

func TestOpenSettings(t *testing.T) {
	s := openTemp(t)
	for pragma, want := range map[string]int64{"synchronous": 2, "secure_delete": 1, "foreign_keys": 1,
		"trusted_schema": 0,
		"user_version":   schemaVersion, "busy_timeout": 60000, "application_id": applicationID} {
		if n, err := number(s.conn, "PRAGMA "+pragma); n != want || err != nil {
			t.Errorf("%s = %d, %v; want %d", pragma, n, err, want)
		}
	}
	if mode, _ := word(s.conn, "PRAGMA journal_mode"); mode != "wal" {
		t.Errorf("journal mode %s", mode)
	}
	put(t, s, "user", "u", "c", "t", `"content":"x"`)
	if err := s.conn.Exec(`UPDATE entries SET content = 'forged'`); err == nil {
		t.Error("an entry could be changed")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	sql := func(name, script string) string {
		conn, err := sqlite3.Open(path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Exec(script); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	text := path("text")
	os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 99)), 0o600)
	empty := path("empty")
	os.WriteFile(empty, nil, 0o600)
	link := path("link")
	os.Symlink(empty, link)
	fifo := path("fifo")
	syscall.Mkfifo(fifo, 0o600)
	newer := openAtPath(t, path("newer"))
	if err := newer.conn.Exec("PRAGMA user_version=99"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path     string
		readOnly bool
		want     error // nil: any
		code     string
	}{
		{path("missing"), true, ErrNotFound, "not_found"},
		{path("no/such/dir"), false, ErrNotFound, "not_found"},
		{empty, true, ErrNotFound, "not_found"},
		{text, false, ErrForeign, "foreign_file"},
		{text, true, ErrForeign, "foreign_file"},
		{sql("other", "CREATE TABLE notes(x)"), false, ErrForeign, "foreign_file"},
		{sql("stamped", "PRAGMA user_version=1"), false, ErrForeign, "foreign_file"},
		{sql("app", "PRAGMA application_id=7"), true, ErrForeign, "foreign_file"},
		{path("newer"), false, ErrNewer, "newer_version"},
		{path("newer"), true, ErrNewer, "newer_version"},
		{link, false, nil, "symlink"},
		{fifo, false, nil, "error"},
		{dir, true, nil, "error"},
		{path("nul\x00"), false, nil, "error"},
	} {
		before, _ := os.ReadFile(text)
		s, err := Open(c.path, Options{ReadOnly: c.readOnly})
		if err == nil {
			s.Close()
			t.Errorf("%q was opened", c.path)
			continue
		}
		e := envelope.From(err)
		if c.want != nil && !errors.Is(err, c.want) || e.Code != c.code || c.code != "error" && e.Hint == "" {
			t.Errorf("%q: %v (code %s, hint %q)", c.path, err, e.Code, e.Hint)
		}
		if after, _ := os.ReadFile(text); string(after) != string(before) {
			t.Error("a foreign file was changed")
		}
	}
	if _, err := os.Stat(path("missing")); err == nil {
		t.Error("a read-only open created the file")
	}
	openAtPath(t, empty) // blank is not foreign
}

func TestReadOnly(t *testing.T) {
	s := openTemp(t)
	toolTurn(t, s, "conv-12345678", "1")
	check := func() {
		t.Helper()
		r, err := Open(s.path, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if hits, err := r.Search("list", SearchOptions{}); err != nil || len(hits) != 1 {
			t.Errorf("search: %v %v", hits, err)
		}
		if _, entries, err := r.Show("conv-12345"); err != nil || len(entries) != 5 {
			t.Errorf("show: %v %v", entries, err)
		}
		if err := r.Put(parse(t, "user", "u9", "c", "t", `"content":"x"`), ""); !errors.Is(err, sqlite3.READONLY) {
			t.Errorf("put: %v", err)
		}
	}
	check() // beside a writer
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check() // alone
	os.Remove(s.path + "-wal")
	os.Remove(s.path + "-shm")
	dir := filepath.Dir(s.path)
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	check() // where nothing can be created (root may all the same)
}

func TestOpenThroughLinkedDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "home")); err != nil {
		t.Fatal(err)
	}
	say(t, openAtPath(t, filepath.Join(dir, "home", "memory.sqlite")), "1", "c", "hello")
}

// TestBeheadedMemory: a file whose bytes are gone while its log is there is not an empty memory, whoever opens it and
// however.
func TestBeheadedMemory(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		for _, o := range []Options{{}, {Kept: true}, {ReadOnly: true}} {
			path := filepath.Join(t.TempDir(), "memory.sqlite")
			s, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			say(t, s, "1", "c", "hello")
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path + "-wal")
			Prepare(path, o)
			again, err := Open(path, o)
			if err == nil {
				again.Close()
			}
			if err == nil || name == "cut" && envelope.From(err).Code != "memory.damaged" {
				t.Errorf("%s, %+v: %v", name, o, err)
			}
			if after, _ := os.ReadFile(path + "-wal"); len(before) == 0 || len(after) != len(before) {
				t.Errorf("%s, %+v: the log had %d bytes, and has %d", name, o, len(before), len(after))
			}
			s.Close()
		}
	}
}
