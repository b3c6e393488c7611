package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestMendsTouchNothingElse: between the look and the mend, anybody who may write there can put something else in the
// place.
func TestMendsTouchNothingElse(t *testing.T) {
	for what, swap := range map[string]func(home, other string) error{
		"a link": func(home, other string) error { return os.Symlink(other+"/keys", home+"/keys") },
		"a link to a file": func(home, other string) error {
			return os.Symlink(other+"/keys/permit.pub",
				home+"/keys")
		},
		"a directory's link": func(home, other string) error { return os.Symlink("agents", home+"/keys") },
		"a fifo":             func(home, other string) error { return syscall.Mkfifo(home+"/keys", 0o666) },
		"nothing":            func(home, other string) error { return nil },
		"another hard link": func(home, other string) error {
			return os.Link(other+"/keys/permit.pub",
				home+"/keys")
		},
		"a link to ourselves": func(home, other string) error { return os.Symlink("keys", home+"/keys") },
	} {
		p, _ := wholeHome(t)
		other, _ := wholeHome(t)
		for _, path := range []string{p.Home + "/keys", p.Home + "/keys/permit.pub", other.Home + "/keys",
			other.Home + "/keys/permit.pub", p.Home + "/agents"} {
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
		for path, want := range map[string]os.FileMode{other.Home + "/keys": 0o777,
			other.Home + "/keys/permit.pub": 0o777, p.Home + "/agents": 0o755,
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

// TestMendsOnlyWhatWasInspected: what lies in the place by now is another file, wherever it was exchanged.
func TestMendsOnlyWhatWasInspected(t *testing.T) {
	for what, swap := range map[string]func(up, other string) error{
		"a link above the home": func(up, other string) error { return os.Symlink(other, up) },
		"a directory above it":  func(up, other string) error { return os.Rename(other, up) },
		"the home, linked": func(up, other string) error {
			return errors.Join(os.Mkdir(up, 0o755), os.Symlink(other+"/.clawsh", up+"/.clawsh"))
		},
		"the home": func(up, other string) error {
			return errors.Join(os.Mkdir(up, 0o755), os.Rename(other+"/.clawsh", up+"/.clawsh"))
		},
		"a directory in it": func(up, other string) error {
			return errors.Join(os.Rename(up+".gone", up), os.Rename(up+"/.clawsh/keys", up+"/k"),
				os.Rename(other+"/.clawsh/keys", up+"/.clawsh/keys"))
		},
		"a file in it": func(up, other string) error {
			key := "/.clawsh/keys/permit.key"
			return errors.Join(os.Rename(up+".gone", up), os.Rename(other+key, up+key))
		},
		"an owner": func(up, other string) error {
			return errors.Join(os.Rename(up+".gone", up), os.Chown(up+"/.clawsh/keys/permit.key", 1234, 1234))
		},
	} {
		p, _ := wholeHome(t)
		other, _ := wholeHome(t)
		for _, path := range []string{p.Home, other.Home} {
			os.Chmod(path+"/keys/permit.key", 0o666)
		}
		found := Inspect(p, nil)
		if len(found) != 1 || !found[0].Mendable() {
			t.Fatalf("%v", found)
		}
		key, err := os.Open(other.Home + "/keys/permit.key")
		if what == "an owner" {
			key, err = os.Open(p.Home + "/keys/permit.key")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer key.Close()
		up := filepath.Dir(p.Home)
		os.Rename(up, up+".gone")
		if err := swap(up, filepath.Dir(other.Home)); errors.Is(err, fs.ErrPermission) {
			continue // only root can
		} else if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		err = found[0].Mend()
		if info, _ := key.Stat(); err == nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%s: %v, %v", what, err, info.Mode())
		}
	}
}

// TestMendsKeepOtherBits: set-id and sticky bits are not the fault.
func TestMendsKeepOtherBits(t *testing.T) {
	p, _ := wholeHome(t)
	for bits, name := range map[fs.FileMode]string{
		fs.ModeSetgid: "skills", fs.ModeSticky: "plugins", fs.ModeSetgid | fs.ModeSticky: "cache",
		fs.ModeSetuid: "history"} {
		path := filepath.Join(p.Home, name)
		if err := os.Chmod(path, 0o775|bits); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		for _, f := range Inspect(p, nil) {
			if err := f.Mend(); err != nil {
				t.Error(f, err)
			}
		}
		if info, _ := os.Lstat(path); info.Mode() != before.Mode()&^0o022 {
			t.Errorf("%s: %v, then %v", name, before.Mode(), info.Mode())
		}
	}
}

// TestFaultsFromTheTop: what lies above is told first: until it is mended, nothing below is safe.
func TestFaultsFromTheTop(t *testing.T) {
	p, _ := wholeHome(t)
	var want []string
	for _, path := range []string{filepath.Dir(filepath.Dir(p.Home)), filepath.Dir(p.Home), p.Home, p.Home + "/keys",
		p.Home + "/keys/permit.key"} {
		want = append(want, path)
		os.Chmod(path, 0o777)
	}
	var got []string
	for _, f := range Inspect(p, nil) {
		got = append(got, f.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
