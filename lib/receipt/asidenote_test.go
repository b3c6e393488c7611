package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplaceWithAnyNote: whatever note lies beside a log, sound or damaged, each line that was ever there is found
// after set-aside, in the log or in a copy, and the keys of each copy are there.
func TestReplaceWithAnyNote(t *testing.T) {
	t.Parallel()
	template := asideTwice(t)
	for name, raw := range notes(t, template) {
		for _, damaged := range []int{0, 1, 4} {
			for _, head := range []bool{false, true} { // true: one that pretends to be by the log that the note names
				t.Run(fmt.Sprintf("%s, damaged %d, head %v", name, damaged, head), func(t *testing.T) {
					x := template.copied(t)
					x.plant(t, markPath(x.path), raw)
					if to, _, ok := strings.Cut(string(raw), asideLabel); ok && head {
						x.plant(t, headPath(x.path), []byte(to+"/head\n1\n"))
					}
					if damaged > 0 {
						spoil(t, x.path, damaged)
					}
					x.setAsideKeepsAll(t, damaged > 0)
				})
			}
		}
	}
}

// TestReplaceKilledAndDamaged: the same where the log is damaged once more after each step of a killed set-aside.
func TestReplaceKilledAndDamaged(t *testing.T) {
	t.Parallel()
	template := asideTwice(t)
	spoil(t, template.path, 3)
	for step, more := 0, true; more; step++ {
		x := template.copied(t)
		more = x.killed(t, step)
		if len(read(t, x.path)) > 0 {
			spoil(t, x.path, 1)
		}
		x.setAsideKeepsAll(t, false)
	}
}

// TestReplaceBelievesNoName: names in the log's directory make it remove neither keys nor copies.
func TestReplaceBelievesNoName(t *testing.T) {
	t.Parallel()
	template := asideTwice(t)
	for i := range glob(t, filepath.Join(sideDir(template.path), "aside-*")) {
		for _, how := range []string{"made", "renamed"} {
			x := template.copied(t)
			name := filepath.Base(glob(t, filepath.Join(sideDir(x.path), "aside-*"))[i])
			planted := filepath.Join(sideDir(x.path), "."+name)
			noted := len(glob(t, filepath.Join(sideDir(x.path), name, asideNote))) > 0
			want := x.keyFiles(t)
			err := os.Mkdir(planted, 0o700)
			if how == "renamed" {
				err = errors.Join(os.Remove(planted), os.Rename(filepath.Join(sideDir(x.path), name), planted))
			}
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, x.path, 3)
			if _, err := Replace(x.path, Options{Keys: x.keys}, "", "again"); err != nil {
				t.Fatal(err)
			}
			got := x.keyFiles(t)
			for file, raw := range want {
				if !bytes.Equal(got[file], raw) {
					t.Errorf("%s, %s: %s is gone", name, how, file)
				}
			}
			if how == "renamed" && noted && len(glob(t, filepath.Join(planted, filepath.Base(x.path)))) == 0 {
				t.Errorf("%s: the copy is gone", name)
			}
		}
	}
}

// asideTwice is a log that took the place of one that took the place of another; a third set-aside was given up when it
// had its note.
func asideTwice(t *testing.T) interruption {
	t.Helper()
	path, o := home(t)
	o.RotateBytes = 2_000
	x := interruption{path, o.Keys}
	mustAppend(t, openLog(t, path, o), 8)
	for range 2 {
		spoil(t, path, 3)
		for step := 0; len(glob(t, markPath(path))) == 0; step++ {
			x.killed(t, step)
		}
		if _, err := Replace(path, o, "", "r"); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, openLog(t, path, Options{Keys: x.keys}), 5)
	}
	sound := read(t, path)
	spoil(t, path, 2)
	for step := 0; len(glob(t, markPath(path))) == 0; step++ {
		x.killed(t, step)
	}
	x.plant(t, path, sound) // given up: a copy of the log was restored
	return x
}

// notes are all that were ever signed in a home, the one that lies there now, none, and one of another home.
func notes(t *testing.T, x interruption) map[string][]byte {
	t.Helper()
	other := asideTwice(t)
	all := map[string][]byte{"none": nil, "current": read(t, markPath(x.path)),
		"foreign": read(t, markPath(other.path))}
	for i, path := range glob(t, filepath.Join(sideDir(x.path), "aside-*", asideNote)) {
		all[fmt.Sprint("replayed ", i)] = read(t, path)
	}
	return all
}

// plant writes a file in the place of what is there; nil removes it.
func (x interruption) plant(t *testing.T, path string, raw []byte) {
	t.Helper()
	err := os.RemoveAll(path)
	if raw != nil {
		err = errors.Join(err, os.WriteFile(path, raw, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (x interruption) setAsideKeepsAll(t *testing.T, damaged bool) {
	t.Helper()
	want := x.lines(t)
	_, err := Replace(x.path, Options{Keys: x.keys}, "", "again")
	if damaged && err != nil || err != nil && !errors.Is(err, ErrSound) && !errors.Is(err, ErrAcceptable) {
		t.Fatal(err)
	}
	got := x.lines(t)
	for line := range want {
		if !got[line] && !strings.Contains(line, asideTool) {
			t.Fatalf("lost: %s", line)
		}
	}
	if rep := verifyFile(t, x.path, Trust{Keys: keysOf(t, Options{Keys: x.keys})}); err == nil && !rep.Valid {
		t.Errorf("set aside, and it says %+v", rep)
	}
	for _, dir := range glob(t, filepath.Join(sideDir(x.path), "aside-*")) {
		if _, err := LoadKeys(AsideKeys(x.keys, x.path, filepath.Join(dir, filepath.Base(x.path)))); err != nil {
			t.Errorf("the keys of a copy: %v", err)
		}
	}
}

// lines are those of the log and of each copy.
func (x interruption) lines(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	logs := []string{x.path}
	for _, dir := range glob(t, filepath.Join(sideDir(x.path), "aside-*")) {
		logs = append(logs, filepath.Join(dir, filepath.Base(x.path)))
	}
	for _, log := range logs {
		for line := range strings.Lines(string(whole(t, log))) {
			all[line] = true
		}
	}
	return all
}

// keyFiles are the files of keys that were set aside.
func (x interruption) keyFiles(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, path := range glob(t, filepath.Join(x.keys, "aside-*", "*")) {
		all[path] = read(t, path)
	}
	return all
}
