package receipt

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// signedAt is a checkpoint of the first n receipts of a log.
func signedAt(t testing.TB, path, keys string, n int) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	k, err := LoadKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/log", bytes.Join(lines[:n], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Accept(dir+"/log", Options{Keys: keys}, Loss{}); err != nil {
		t.Fatal(err)
	}
	src, err := Open(dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	signed, rep, err := Checkpoint(src, k)
	if err != nil || signed == nil || rep.Count != n {
		t.Fatal(rep, err)
	}
	return signed
}

// Any two checkpoints of a log are consistent, and the proof checks without the log.
func TestConsistency(t *testing.T) {
	path, keys := aLog(t, 700)
	k, _ := LoadKeys(keys)
	sizes := []int{1, 2, 3, 255, 256, 257, 512, 699, 700}
	var signed [][]byte
	for _, n := range sizes {
		signed = append(signed, signedAt(t, path, keys, n))
	}
	for i := range sizes {
		for j := i; j < len(sizes); j++ {
			src, _ := Open(path)
			p, err := ProveConsistency(src, Trust{Keys: k, Public: k.Public,
				Against: slices.Concat(signed[i], signed[j])})
			if err != nil {
				t.Fatalf("%d to %d: %v", sizes[i], sizes[j], err)
			}
			got, err := CheckConsistency(p.Encode(), k.Public)
			if err != nil || int(got.Old.N) != sizes[i] || int(got.New.N) != sizes[j] {
				t.Errorf("%d to %d: %+v, %v", sizes[i], sizes[j], got, err)
			}
			src.Close()
		}
	}
}

// No changed byte, no hash more or less, and no other checkpoint makes a proof of something else.
func TestConsistencyOfSomethingElse(t *testing.T) {
	path, keys := aLog(t, 20)
	k, _ := LoadKeys(keys)
	src, _ := Open(path)
	p, err := ProveConsistency(src, Trust{Keys: k, Public: k.Public,
		Against: slices.Concat(signedAt(t, path, keys, 7), signedAt(t, path, keys, 20))})
	if err != nil {
		t.Fatal(err)
	}
	good := p.Encode()
	for i := range good {
		for _, x := range []byte{1, 2, 0x20, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= x
			if got, err := CheckConsistency(bad, k.Public); err == nil && (got.Old != p.Old || got.New != p.New) {
				t.Errorf("byte %d: %+v", i, got)
			}
		}
		if got, err := CheckConsistency(append(bytes.Clone(good[:i]), good[i+1:]...), k.Public); err == nil &&
			(got.Old != p.Old || got.New != p.New) {
			t.Errorf("without byte %d: %+v", i, got)
		}
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	for i := 1; len(lines[i]) > 1; i++ {
		if _, err := CheckConsistency(bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil),
			k.Public); err == nil {
			t.Errorf("without hash %d", i)
		}
		if _, err := CheckConsistency(bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil),
			k.Public); err == nil {
			t.Errorf("with hash %d twice", i)
		}
	}
	// the same key, two histories: a checkpoint of a log that forked
	forked := t.TempDir() + "/log"
	os.WriteFile(forked, someLines(t, k, 9), 0o600)
	src, _ = Open(path)
	if _, err := ProveConsistency(src, Trust{Keys: k, Public: k.Public,
		Against: slices.Concat(signedAt(t, forked, keys, 9), signedAt(t, path, keys, 20))}); err == nil {
		t.Error("a fork is proven")
	}
}

func FuzzConsistency(f *testing.F) {
	path, keys := aLog(f, 9)
	k, _ := LoadKeys(keys)
	src, _ := Open(path)
	p, err := ProveConsistency(src, Trust{Keys: k, Public: k.Public,
		Against: slices.Concat(signedAt(f, path, keys, 3), signedAt(f, path, keys, 9))})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, err := CheckConsistency(raw, k.Public); err == nil && (got.Old != p.Old || got.New != p.New) &&
			got.Old != got.New {
			t.Errorf("%q proves %+v", raw, got)
		}
	})
}
