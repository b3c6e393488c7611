package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMendsTouchNothingElse: between the look and the mend, anybody who may write there can put something else in the place.
func TestMendsTouchNothingElse(t *testing.T) {
	for what, swap := range map[string]func(home, other string) error{
		"a link":              func(home, other string) error { return os.Symlink(other+"/keys", home+"/keys") },
		"a link to a file":    func(home, other string) error { return os.Symlink(other+"/keys/permit.pub", home+"/keys") },
		"a directory's link":  func(home, other string) error { return os.Symlink("agents", home+"/keys") },
		"a fifo":              func(home, other string) error { return syscall.Mkfifo(home+"/keys", 0o666) },
		"nothing":             func(home, other string) error { return nil },
		"another hard link":   func(home, other string) error { return os.Link(other+"/keys/permit.pub", home+"/keys") },
		"a link to ourselves": func(home, other string) error { return os.Symlink("keys", home+"/keys") },
	} {
		p, _ := wholeHome(t)
		other, _ := wholeHome(t)
		for _, path := range []string{p.Home + "/keys", p.Home + "/keys/permit.pub", other.Home + "/keys", other.Home + "/keys/permit.pub", p.Home + "/agents"} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		found := Inspect(p, nil)
		if len(found) < 3 {
			t.Fatalf("%v", found)
		}
		os.Rename(p.Home+"/keys", p.Home+"/gone")
		if err := swap(p.Home, other.Home); err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if err := f.Mend(); err == nil && filepath.Base(f.Path) != "agents" {
				t.Errorf("%s: %s was mended", what, f.Path)
			}
		}
		for path, want := range map[string]os.FileMode{other.Home + "/keys": 0o777, other.Home + "/keys/permit.pub": 0o777, p.Home + "/agents": 0o755,
			p.Home + "/gone": 0o777} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %s: %v, %v, want %v", what, path, info.Mode(), err, want)
			}
		}
	}
}

// TestMendsAddNothing: a mode that was narrowed meanwhile stays so.
func TestMendsAddNothing(t *testing.T) {
	p, _ := wholeHome(t)
	os.Chmod(p.Home+"/audit.jsonl", 0o666)
	found := Inspect(p, nil)
	os.Chmod(p.Home+"/audit.jsonl", 0o602)
	if err := found[0].Mend(); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(p.Home + "/audit.jsonl"); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
}

// TestMendsOutsideTheHome: what lies elsewhere is told, and is for its owner to change.
func TestMendsOutsideTheHome(t *testing.T) {
	p, _ := wholeHome(t)
	up := filepath.Dir(p.Home)
	os.Chmod(up, 0o777)
	os.WriteFile(p.File, []byte("[receipts]\npath = \"$HOME/else/r.log\"\n"), 0o600)
	os.Mkdir(up+"/else", 0o700)
	os.WriteFile(up+"/else/r.log", nil, 0o600)
	os.Chmod(up+"/else/r.log", 0o666)
	c, _ := Load(p)
	found := Inspect(p, c)
	for _, f := range found {
		if f.Mendable() || f.Mend() == nil || f.Hint == "" {
			t.Errorf("%v: %+v", f, f)
		}
	}
	if len(found) < 1 {
		t.Errorf("%v", found)
	}
}

// TestMendsThroughALinkedHome: the home itself may be a link of ours.
func TestMendsThroughALinkedHome(t *testing.T) {
	p, _ := wholeHome(t)
	real := filepath.Join(filepath.Dir(p.Home), "real")
	os.Rename(p.Home, real)
	os.Symlink(real, p.Home)
	for _, name := range []string{"", "/keys", "/keys/permit.key"} {
		os.Chmod(real+name, 0o777)
	}
	found := Inspect(p, nil)
	for _, f := range found {
		if err := f.Mend(); err != nil {
			t.Error(f, err)
		}
	}
	if rest := Inspect(p, nil); len(found) == 0 || len(rest) > 0 {
		t.Errorf("%v, then %v", found, rest)
	}
}
