package receipt

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var errKilled = errors.New("killed")

// TestReplaceInterrupted ends Replace behind each of its steps, and behind each step of the run that goes on from
// there: what is read in between is the old log, as it was, or the new one, nothing is lost, nothing is appended to
// what is neither, and one run more ends it.
func TestReplaceInterrupted(t *testing.T) {
	t.Parallel()
	for _, damaged := range []int{1, 150} {
		template, before, old := damagedLog(t, damaged)
		for first := 0; ; first++ {
			x := template.copied(t)
			more := x.killed(t, first)
			x.check(t, before, old)
			for second := 0; more && second <= first%5; second++ { // and killed again, the sooner the more often
				x.killed(t, (first+3*second)%7)
				x.check(t, before, old)
			}
			if _, err := Replace(x.path, Options{Keys: x.keys}, "", "again"); err != nil && !errors.Is(err, ErrSound) {
				t.Fatalf("receipt %d, step %d: %v", damaged, first, err)
			}
			x.ended(t, before, old)
			if !more {
				break
			}
		}
	}
}

type interruption struct {
	path, keys string
}

// damagedLog is a log in two parts and a rest, what Verify says of it, and its bytes.
func damagedLog(t *testing.T, damaged int) (interruption, Report, []byte) {
	t.Helper()
	path, o := home(t)
	o.RotateBytes = 25_000
	l := openLog(t, path, o)
	mustAppend(t, l, 150)
	spoil(t, path, damaged)
	return interruption{path, o.Keys}, verifyFile(t, path, Trust{Keys: keysOf(t, o)}), whole(t, path)
}

// copied is a copy, all modes kept.
func (x interruption) copied(t *testing.T) interruption {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", filepath.Dir(x.path), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return interruption{filepath.Join(dir, filepath.Base(x.path)), filepath.Join(dir, filepath.Base(x.keys))}
}

// killed runs Replace up to a step, and tells whether it has that many.
func (x interruption) killed(t *testing.T, step int) (killed bool) {
	t.Helper()
	n := 0
	_, err := replacement{path: x.path, keys: x.keys, reason: "r", at: func(string) error {
		if n++; n > step {
			killed = true
			return errKilled
		}
		return nil
	}}.run()
	if killed != errors.Is(err, errKilled) || err != nil && !killed && !errors.Is(err, ErrSound) {
		t.Fatalf("step %d: %v", step, err)
	}
	return killed
}

func (x interruption) check(t *testing.T, before Report, old []byte) {
	t.Helper()
	k, err := LoadKeys(x.keys)
	if err != nil {
		t.Fatal(err)
	}
	src, err := OpenIn(x.path, x.keys)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	rep, err := Verify(src, Trust{Keys: k})
	if err != nil {
		t.Fatal(err)
	}
	if rep != before && !(rep.Valid && rep.After && rep.Count == 1) {
		t.Fatalf("it is neither the old log nor the new one: %+v", rep)
	}
	if !x.has(t, old) {
		t.Fatal("the old log is not whole")
	}
	if m, ok := readMark(x.path, k); ok && m.begun(x.path) && k.Origin == m.Origin {
		l := openLog(t, x.path, Options{Keys: x.keys})
		if _, err := l.Append(result(1)); !errors.Is(err, ErrTampered) {
			t.Fatalf("appended to a log that is being replaced: %v", err)
		}
	}
}

func (x interruption) ended(t *testing.T, before Report, old []byte) {
	t.Helper()
	k, err := LoadKeys(x.keys)
	if err != nil {
		t.Fatal(err)
	}
	if rep := verifyFile(t, x.path, Trust{Keys: k}); !rep.Valid || !rep.After || rep.Count != 1 || !x.has(t, old) {
		t.Fatalf("in the end: %+v", rep)
	}
	public, err := LoadPublic(filepath.Join(x.keys, "receipt.pub"))
	if err != nil || len(public) != 1 || len(glob(t, markPath(x.path))) > 0 ||
		len(glob(t, filepath.Join(sideDir(x.path), ".aside-*"))) > 0 {
		t.Fatalf("something is left: %v, %v", public, err)
	}
	for _, dir := range glob(t, filepath.Join(sideDir(x.path), "aside-*")) {
		log := filepath.Join(dir, filepath.Base(x.path))
		kept, err := LoadKeys(AsideKeys(x.keys, x.path, log))
		if err != nil {
			t.Fatal(err)
		}
		if rep := verifyFile(t, log, Trust{Keys: kept}); rep != before {
			t.Fatalf("set aside, it says %+v", rep)
		}
	}
	mustAppend(t, openLog(t, x.path, Options{Keys: x.keys}), 1)
}

// has tells whether the bytes of a log are there, where it was or in a copy.
func (x interruption) has(t *testing.T, old []byte) bool {
	t.Helper()
	if bytes.Equal(whole(t, x.path), old) {
		return true
	}
	for _, dir := range glob(t, filepath.Join(sideDir(x.path), "aside-*")) {
		if bytes.Equal(whole(t, filepath.Join(dir, filepath.Base(x.path))), old) {
			return true
		}
	}
	return false
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// whole is what a log holds with its parts.
func whole(t *testing.T, path string) (all []byte) {
	t.Helper()
	parts, err := countParts(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		all = append(all, read(t, partPath(path, i))...)
	}
	return append(all, read(t, path)...)
}

// TestMarkIsSigned: a note that the key in use did not sign, or about another log, makes nobody read another file.
func TestMarkIsSigned(t *testing.T) {
	t.Parallel()
	x, before, _ := damagedLog(t, 1)
	for step := 0; len(glob(t, markPath(x.path))) == 0; step++ {
		x.killed(t, step)
	}
	other, o := home(t)
	raw := read(t, markPath(x.path))
	for name, change := range map[string]func([]byte) []byte{
		"another home's": func(b []byte) []byte { return b },
		"changed": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"reason":"r"`),
				[]byte(`"reason":"s"`), 1)
		},
		"empty": func([]byte) []byte { return nil },
	} {
		path, keys := x.path, x.keys
		if name == "another home's" {
			path, keys = other, o.Keys
		}
		if err := os.WriteFile(markPath(path), change(bytes.Clone(raw)), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, ok := readMark(path, keysOf(t, Options{Keys: keys})); ok {
			t.Errorf("%s: believed: %+v", name, m)
		}
	}
	if before.Valid {
		t.Error("the log is sound")
	}
}
