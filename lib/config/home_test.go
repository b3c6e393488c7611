package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes what tests make what only they may write to, whatever the umask is.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}

// wholeHome makes a home with every entry.
func wholeHome(t testing.TB) (p Paths, all map[string]entry) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "user", ".clawsh")
	env := map[string]string{"HOME": filepath.Dir(home), "CLAWSH_HOME": home}
	p = Paths{Home: home, File: home + "/config.toml", getenv: func(name string) string { return env[name] }}
	all = map[string]entry{}
	for _, e := range entries {
		all[home+"/"+e.name] = e
	}
	for _, e := range ofAgent {
		all[filepath.Join(home, "agents/default", e.name)] = e
	}
	for _, e := range ofMemory {
		all[home+"/memory.sqlite"+e.name] = e
	}
	for _, e := range ofReceipts {
		all[home+"/"+ReceiptsName+e.name] = e
	}
	for path, e := range all {
		dir := path
		if !e.dir {
			dir = filepath.Dir(path)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if !e.dir && os.WriteFile(path, nil, 0o600) != nil {
			t.Fatal(path)
		}
	}
	return p, all
}

// faults are what can be wrong with an entry: each makes it so, and says whether it can be.
var faults = map[string]func(t *testing.T, path string, e entry) bool{
	"written by the group": func(t *testing.T, path string, e entry) bool { return mode(t, path, e, 0o020) },
	"written by all":       func(t *testing.T, path string, e entry) bool { return mode(t, path, e, 0o002) },
	"open to all":          func(t *testing.T, path string, e entry) bool { return mode(t, path, e, 0o077) },
	"read by others": func(t *testing.T, path string, e entry) bool {
		return e.forbidden == notReadable && mode(t, path, e, 0o044)
	},
	"a link": func(t *testing.T, path string, e entry) bool {
		return !e.linked && os.Rename(path, path+".real") == nil && os.Symlink(path+".real", path) == nil
	},
	"a link to what others write": func(t *testing.T, path string, e entry) bool {
		return os.Rename(path, path+".real") == nil && os.Chmod(path+".real", 0o777) == nil &&
			os.Symlink(path+".real", path) == nil
	},
	"a link to nothing": func(t *testing.T, path string, e entry) bool {
		return os.RemoveAll(path) == nil && os.Symlink("/nonexistent/x", path) == nil
	},
	"another kind": func(t *testing.T, path string, e entry) bool {
		if os.RemoveAll(path) != nil {
			t.Fatal(path)
		}
		if e.dir {
			return os.WriteFile(path, nil, 0o600) == nil
		}
		return os.Mkdir(path, 0o700) == nil
	},
	"somebody else's": func(t *testing.T, path string, e entry) bool { return os.Lchown(path, 1234, 1234) == nil },
	"nobody's":        func(t *testing.T, path string, e entry) bool { return os.Lchown(path, 65534, 65534) == nil },
}

func mode(t *testing.T, path string, e entry, more fs.FileMode) bool {
	old := fs.FileMode(0o600)
	if e.dir {
		old = 0o700
	}
	return os.Chmod(path, old|more) == nil
}

// TestEveryEntryWithEveryFault: whatever is wrong with any part of the home, nothing starts; and where the mode is what
// is wrong, setting the mode that the fault names mends it.
func TestEveryEntryWithEveryFault(t *testing.T) {
	_, names := wholeHome(t)
	tried := 0
	for name := range names {
		for what, breakIt := range faults {
			p, all := wholeHome(t)
			if err := CheckHome(p, nil); err != nil {
				t.Fatalf("an ordinary home: %v", err)
			}
			name := filepath.Base(name)
			for path, e := range all {
				if filepath.Base(path) != name || !breakIt(t, path, e) {
					continue
				}
				tried++
				_, err := Load(p)
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%s, %s: %v", path, what, err)
				}
				for _, f := range Inspect(p, nil) {
					if err := f.Mend(); (err == nil) != f.Mendable() {
						t.Errorf("%s, %s: mended: %v, mendable: %v", path, what, err, f.Mendable())
					}
				}
				if rest := Inspect(p, nil); len(rest) > 0 && rest[0].Mendable() {
					t.Errorf("%s, %s: still %v", path, what, rest)
				}
				break
			}
		}
	}
	if least := len(names) * 6; tried < least {
		t.Errorf("%d faults tried, want %d at least", tried, least)
	}
}

func TestTheWayToTheHome(t *testing.T) {
	for _, c := range []struct {
		mode fs.FileMode
		uid  int
		ok   bool
	}{{0o755, -1, true}, {0o700, -1, true}, {0o777 | fs.ModeSticky, -1, true}, {0o775 | fs.ModeSticky, -1, true},
		{0o777, -1, false}, {0o775, -1, false}, {0o757, -1, false}, {0o755, 1234, false}, {0o755, 65534, false},
		{0o755, 0, true}} {
		p, _ := wholeHome(t)
		up := filepath.Dir(p.Home)
		if os.Chmod(up, c.mode) != nil || c.uid >= 0 && os.Chown(up, c.uid, -1) != nil {
			continue // only root can
		}
		if err := CheckHome(p, nil); (err == nil) != c.ok {
			t.Errorf("%v of %d: %v", c.mode, c.uid, err)
		}
	}
}

// TestLinkedHomes: a home or a configuration may lie elsewhere; then the way there counts, too.
func TestLinkedHomes(t *testing.T) {
	p, _ := wholeHome(t)
	up := filepath.Dir(p.Home)
	other := filepath.Join(t.TempDir(), "disk")
	os.Mkdir(other, 0o755)
	os.Rename(p.Home, other+"/clawsh")
	os.Symlink(other+"/clawsh", p.Home)
	os.Rename(other+"/clawsh/config.toml", other+"/settings.toml")
	os.Symlink(other+"/settings.toml", p.File)
	if err := CheckHome(p, nil); err != nil {
		t.Error(err)
	}
	for _, path := range []string{other, other + "/settings.toml", up} {
		info, _ := os.Stat(path)
		os.Chmod(path, info.Mode().Perm()|0o002)
		if err := CheckHome(p, nil); err == nil || !strings.Contains(err.Error(), "writable by others") {
			t.Errorf("%s: %v", path, err)
		}
		os.Chmod(path, info.Mode().Perm())
	}
}

// TestElsewhere: what the configuration puts elsewhere is looked at there.
func TestElsewhere(t *testing.T) {
	for _, c := range []string{"[memory]\npath = \"$HOME/else/m.sqlite\"\n",
		"[receipts]\npath = \"$HOME/else/r.log\"\n"} {
		p, _ := wholeHome(t)
		os.WriteFile(p.File, []byte(c), 0o600)
		dir := filepath.Dir(p.Home) + "/else"
		os.Mkdir(dir, 0o700)
		if _, err := Load(p); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"m.sqlite", "r.log"} {
			os.WriteFile(dir+"/"+name, nil, 0o600)
			os.Chmod(dir+"/"+name, 0o666)
		}
		if _, err := Load(p); err == nil {
			t.Errorf("%s: what others write to is used", c)
		}
		os.RemoveAll(dir)
		os.Mkdir(dir, 0o700)
		os.Chmod(dir, 0o777)
		if _, err := Load(p); err == nil {
			t.Errorf("%s: a directory that others write to is used", c)
		}
	}
}

// TestNamedConfiguration: a file that is named is a policy, too; a pipe of the caller's is theirs.
func TestNamedConfiguration(t *testing.T) {
	p, _ := wholeHome(t)
	dir := filepath.Join(t.TempDir(), "d")
	os.Mkdir(dir, 0o755)
	p.File, p.Explicit = dir+"/c.toml", true
	for _, c := range []struct {
		file, dir fs.FileMode
		ok        bool
	}{{0o600, 0o755, true}, {0o644, 0o755, true}, {0o664, 0o755, false}, {0o646, 0o755, false}, {0o644, 0o777, false}} {
		os.WriteFile(p.File, nil, 0o600)
		os.Chmod(p.File, c.file)
		os.Chmod(dir, c.dir)
		if err := CheckHome(p, nil); (err == nil) != c.ok {
			t.Errorf("%v in %v: %v", c.file, c.dir, err)
		}
	}
}

// TestHomesThatCannotBe: one error that says what to do.
func TestHomesThatCannotBe(t *testing.T) {
	for env, want := range map[[2]string]string{
		{"", ""}: "HOME is not set", {"", "/x"}: "HOME is not set", {"x", ""}: "not an absolute path",
		{"/a\nb", ""}: "newline", {"/a", "/b\nc"}: "CLAWSH_HOME", {"/a\x1bb", ""}: "U+001B",
		{"/a\u202eb", ""}: "U+202E",
		{"/a\x80b", ""}:   "UTF-8", {"/a\x7fb", ""}: "U+007F",
	} {
		vars := map[string]string{"HOME": env[0], "CLAWSH_HOME": env[1]}
		_, err := Locate("", func(name string) string { return vars[name] })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", env, err)
		}
	}
}

// TestInspectIsCheap: it is part of every start of every stage.
func TestInspectIsCheap(t *testing.T) {
	p, _ := wholeHome(t)
	least := time.Hour
	for range 50 {
		start := time.Now()
		Inspect(p, nil)
		least = min(least, time.Since(start))
	}
	if least > time.Millisecond {
		t.Errorf("%v", least)
	}
	t.Logf("%v", least)
}

func BenchmarkInspect(b *testing.B) {
	p, _ := wholeHome(b)
	for b.Loop() {
		Inspect(p, nil)
	}
}
