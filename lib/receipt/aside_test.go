package receipt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

// TestReplaceKeepsAll: whatever is broken, in the log or in a part of it, what was says the same of itself where it
// lies now, and who has the log open appends to the new one. What is sound, or lacks a head alone, is not set aside.
func TestReplaceKeepsAll(t *testing.T) {
	for name, rotate := range map[string]int64{"one file": 0, "parts": 20_000} {
		for _, damaged := range []int{1, 40, 119} {
			path, o := home(t)
			o.RotateBytes = rotate
			l := openLog(t, path, o)
			mustAppend(t, l, 120)
			if _, err := Replace(path, o, "", "r"); !errors.Is(err, ErrSound) {
				t.Fatalf("%s: a sound log: %v", name, err)
			}
			if err := os.Rename(headPath(path), headPath(path)+"x"); err != nil {
				t.Fatal(err)
			}
			if _, err := Replace(path, o, "", "r"); !errors.Is(err, ErrAcceptable) {
				t.Fatalf("%s: a log without its head: %v", name, err)
			}
			if err := os.Rename(headPath(path)+"x", headPath(path)); err != nil {
				t.Fatal(err)
			}
			spoil(t, path, damaged)
			old := keysOf(t, o)
			before := verifyFile(t, path, Trust{Keys: old})
			done, err := Replace(path, o, filepath.Join(t.TempDir(), "none"), "a disk lost a block")
			if err != nil {
				t.Fatalf("%s, %d: %v", name, damaged, err)
			}
			kept, err := LoadKeys(AsideKeys(o.Keys, path, done.Log))
			if err != nil {
				t.Fatal(err)
			}
			if after := verifyFile(t, done.Log, Trust{Keys: kept}); after != before || after.Valid {
				t.Errorf("%s, %d: set aside, it says\n%+v\nand said\n%+v", name, damaged, after, before)
			}
			mustAppend(t, l, 2)
			if now := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !now.Valid || now.Count != 3 || !now.After {
				t.Errorf("%s, %d: the new log: %+v", name, damaged, now)
			}
			signedByBoth(t, filepath.Join(filepath.Dir(done.Log), asideNote), old, keysOf(t, o))
		}
	}
}

func signedByBoth(t *testing.T, path string, keys ...*Keys) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		known, err := verifiers(k.Public)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := note.Open(raw, known); err != nil || len(n.Sigs) != 1 {
			t.Errorf("the note is not signed by %s: %v", k.Origin, err)
		}
	}
}

// spoil changes a byte of the receipt of a number, wherever it is.
func spoil(t *testing.T, path string, number int) {
	t.Helper()
	parts, err := countParts(path)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{path}
	for i := range parts {
		files = append(files[:i:i], partPath(path, i), path)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range raw {
			if number == 1 && b == 'c' {
				raw[i] = 'd'
				os.Chmod(file, 0o600)
				if err := os.WriteFile(file, raw, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if b == '\n' {
				number--
			}
		}
	}
	t.Fatal("there are not so many receipts")
}
