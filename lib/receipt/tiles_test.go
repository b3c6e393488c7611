package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// aLog makes a log of n receipts as appends make them, without the syncs, and its head.
func aLog(t testing.TB, n int) (path, keys string) {
	t.Helper()
	dir := t.TempDir()
	path, keys = filepath.Join(dir, "log"), filepath.Join(dir, "keys")
	if _, err := CreateKeys(keys, path); err != nil {
		t.Fatal(err)
	}
	k, err := LoadKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, someLines(t, k, n), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep, err := Accept(path, Options{Keys: keys}, Loss{}); err != nil || rep.Count != n {
		t.Fatal(rep, err)
	}
	return path, keys
}

// someLines are n receipts of a new log.
func someLines(t testing.TB, k *Keys, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	now := head{hash: Genesis}
	l := &Log{keys: k}
	for i := range n {
		r, _, err := of(record.ToolResult{ConversationID: "conv-1", Tool: "time", Args: record.Raw(`{}`),
			Status: "allowed", Success: true, Output: fmt.Sprint(i)}, Attestation{})
		if err != nil {
			t.Fatal(err)
		}
		r.PreviousHash = now.hash
		line := lineOf(r)
		var h [64]byte
		line.sum(&h, nil)
		r.ReceiptHash = string(h[:])
		r.MAC = l.keys.mac(r.ReceiptHash)
		line = lineOf(r)
		now = head{count: i + 1, hash: r.ReceiptHash}
		out.Write(append(line.encode(), '\n'))
	}
	return out.Bytes()
}

// answers are what is said of a log.
type answers struct {
	checkpoint, proof string
	number            int
	proven            bool
}

func ask(t *testing.T, path, keys string, number int) (a answers, err error) {
	t.Helper()
	k, err := LoadKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *Source {
		src, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { src.Close() })
		return src
	}
	signed, _, err := Checkpoint(fresh(), k)
	if err != nil {
		return a, err
	}
	a.checkpoint = string(signed)
	var id string
	if _, err := List(fresh(), Filter{}, func(n int, r Receipt) error {
		if n == number {
			id = r.ID
		}
		return nil
	}); err != nil {
		return a, err
	}
	if _, a.number, a.proven, err = Find(fresh(), id, k); err != nil {
		return a, err
	}
	p, err := Prove(fresh(), Trust{Keys: k, Public: k.Public, Against: signed}, number)
	if err != nil {
		return a, err
	}
	a.proof = string(p.Encode())
	_, _, err = CheckProof([]byte(a.proof), k.Public)
	return a, err
}

// rootOf is the root of a log's lines by tlog alone.
func rootOf(t *testing.T, lines [][]byte) tlog.Hash {
	t.Helper()
	var tr tree
	for _, l := range lines {
		if err := tr.add(bytes.TrimSuffix(l, []byte("\n"))); err != nil {
			t.Fatal(err)
		}
	}
	h, err := tr.root()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// With tiles the answers are those that reading everything gives, whatever the size.
func TestTilesSayWhatTheLogSays(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 511, 512, 513, 1000, 65537} {
		if n > 2000 && !need.Soak() {
			continue
		}
		path, keys := aLog(t, n)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		root := rootOf(t, bytes.SplitAfter(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")))
		for _, number := range []int{1, max(1, n/2), n} {
			a, err := ask(t, path, keys, number)
			if err != nil || a.number != number || a.proven != (n >= pageSize) {
				t.Fatalf("%d of %d: %+v, %v", number, n, a, err)
			}
			if tree, err := parseCheckpoint(a.checkpoint, "clawsh"); err == nil && tree.Hash != root {
				t.Fatalf("%d: another root", n)
			}
		}
		k, _ := LoadKeys(keys)
		src, _ := Open(path)
		if w, err := look(src, Trust{Keys: k}); n >= pageSize {
			if err != nil {
				t.Fatalf("%d: the tiles are not used: %v", n, err)
			}
			if got, err := w.root(int64(n)); err != nil || got != root {
				t.Fatalf("%d: another root: %v", n, err)
			}
		}
		src.Close()
	}
}

// files are all files of a directory.
func filesIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Whatever becomes of the tiles, no answer changes.
func TestTilesAreNotBelieved(t *testing.T) {
	path, keys := aLog(t, 600)
	want, err := ask(t, path, keys, 300)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	all := filesIn(t, tileDir(path))
	if len(all) != 5 { // two tiles, an incomplete one, pages and the checkpoint
		t.Fatal(all)
	}
	spoil := map[string]func(path string, raw []byte) error{
		"removed": func(p string, _ []byte) error { return os.Remove(p) },
		"empty":   func(p string, _ []byte) error { return os.WriteFile(p, nil, 0o600) },
		"zeros":   func(p string, raw []byte) error { return os.WriteFile(p, make([]byte, len(raw)), 0o600) },
		"short":   func(p string, raw []byte) error { return os.WriteFile(p, raw[:r.IntN(len(raw))], 0o600) },
		"long":    func(p string, raw []byte) error { return os.WriteFile(p, append(raw, raw...), 0o600) },
		"one bit": func(p string, raw []byte) error {
			raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
			return os.WriteFile(p, raw, 0o600)
		},
		"a link":    func(p string, _ []byte) error { return errors.Join(os.Remove(p), os.Symlink(path, p)) },
		"directory": func(p string, _ []byte) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"another": func(p string, _ []byte) error {
			raw, err := os.ReadFile(all[r.IntN(len(all))])
			return errors.Join(err, os.WriteFile(p, raw, 0o600))
		},
	}
	for what, f := range spoil {
		for range need.Rounds(1, 2) {
			for _, p := range all {
				raw, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				if err := f(p, raw); err != nil {
					t.Fatal(err)
				}
				number := 1 + r.IntN(600)
				a, err := ask(t, path, keys, number)
				if err != nil || a.number != number || a.checkpoint != want.checkpoint {
					t.Fatalf("%s is %s: %+v, %v", p, what, a, err)
				}
				if !a.proven && what != "directory" {
					t.Errorf("%s is %s: proven by tiles: %v", p, what, a.proven)
				}
				os.RemoveAll(tileDir(path))
				if _, err := ask(t, path, keys, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A log that was changed below its tiles: nothing wrong is signed, proven or shown as good.
func TestTilesAndAChangedLog(t *testing.T) {
	path, keys := aLog(t, 1000)
	good, err := ask(t, path, keys, 300)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := os.ReadFile(path)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	k, _ := LoadKeys(keys)
	other := bytes.SplitAfter(someLines(t, k, 1000), []byte("\n"))
	for what, change := range map[string]func(l [][]byte) [][]byte{
		"edited": func(l [][]byte) [][]byte {
			l[299] = bytes.Replace(l[299], []byte(`"time"`), []byte(`"shell"`), 1)
			return l
		},
		"removed":   func(l [][]byte) [][]byte { return append(l[:299], l[300:]...) },
		"doubled":   func(l [][]byte) [][]byte { l[300] = l[299]; return l },
		"another":   func(l [][]byte) [][]byte { l[299] = other[299]; return l },
		"no mac":    func(l [][]byte) [][]byte { l[299] = append(l[299][:len(l[299])-74], "}\n"...); return l },
		"all other": func([][]byte) [][]byte { return append([][]byte{}, other...) },
		"the end":   func(l [][]byte) [][]byte { return l[:900] },
	} {
		l := make([][]byte, len(lines))
		for i := range lines {
			l[i] = bytes.Clone(lines[i])
		}
		if err := os.WriteFile(path, bytes.Join(change(l), nil), 0o600); err != nil {
			t.Fatal(err)
		}
		src, _ := Open(path)
		signed, rep, err := Checkpoint(src, k)
		if signed != nil && (string(signed) != good.checkpoint || what == "the end" || what == "all other") {
			t.Errorf("%s: it signs %s, %+v, %v", what, signed, rep, err)
		}
		src, _ = Open(path)
		p, err := Prove(src, Trust{Keys: k, Public: k.Public, Against: []byte(good.checkpoint)}, 300)
		if err == nil && (what != "the end" || p == nil) || err == nil {
			t.Errorf("%s: proven: %s", what, p.Line)
		}
		got, err := Parse(bytes.TrimSuffix(l[299], []byte("\n")))
		src, _ = Open(path)
		if r, n, proven, _ := Find(src, got.ID, k); err == nil && proven && n > 0 && what != "removed" {
			t.Errorf("%s: found as good: %d, %+v", what, n, r)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Appends keep the tiles; a rotated log and a torn end are as good.
func TestTilesGrow(t *testing.T) {
	dir := t.TempDir()
	path, keys := filepath.Join(dir, "log"), filepath.Join(dir, "keys")
	if _, err := CreateKeys(keys, path); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(path, Options{Keys: keys, RotateBytes: 50_000})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := LoadKeys(keys)
	for i := range 600 {
		if _, err := l.Append(record.ToolResult{Tool: "time", Args: record.Raw(`{}`), Status: "allowed", Success: true,
			Output: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(path, k); i >= 255 && (err != nil || s.N != int64(i+1)/256*256) {
			t.Fatalf("%d: %+v, %v", i, s, err)
		}
		if i == 300 {
			os.Remove(filepath.Join(tileDir(path), "checkpoint"))
			if _, err := ask(t, path, keys, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.Close()
	f, _ := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	f.WriteString(`{"id":"rec`)
	f.Close()
	if parts, _ := countParts(path); parts < 5 {
		t.Fatal("it is not rotated")
	}
	for _, number := range []int{1, 256, 257, 512, 513, 600} {
		if a, err := ask(t, path, keys, number); err != nil || !a.proven || a.number != number {
			t.Fatalf("%d: %+v, %v", number, a, err)
		}
	}
	if got := filesIn(t, tileDir(path)); len(got) != 5 {
		t.Errorf("too much is left: %q", got)
	}
}

// Tiles that a key signed which was replaced since are made anew.
func TestTilesOfARetiredKey(t *testing.T) {
	path, keys := aLog(t, 600)
	if _, err := ask(t, path, keys, 1); err != nil {
		t.Fatal(err)
	}
	k, err := RotateKeys(keys, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readState(path, k); !errors.Is(err, errTiles) {
		t.Fatal(err)
	}
	if a, err := ask(t, path, keys, 1); err != nil || !a.proven {
		t.Fatal(a, err)
	}
}

// The last receipts are those at the end, wherever the pieces and parts begin that are read.
func TestListLast(t *testing.T) {
	path, _ := aLog(t, 700)
	raw, _ := os.ReadFile(path)
	for _, end := range []string{"", `{"id":"rec`, "x\n", "\n", string(bytes.Repeat([]byte("y"), 1<<18)) + "\n",
		string(bytes.Repeat([]byte("z"), 1<<18))} {
		os.WriteFile(path, append(bytes.Clone(raw), end...), 0o600)
		var all []Receipt
		src, _ := Open(path)
		bad, err := List(src, Filter{}, func(_ int, r Receipt) error { all = append(all, r); return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 5, 299, 699, 700, 2000} {
			got, unreadable, err := ListLast(src, Filter{}, n)
			if want := all[len(all)-min(n, len(all)):]; err != nil || len(got) != len(want) || got[0] != want[0] ||
				got[len(got)-1] != want[len(want)-1] || unreadable != bad {
				t.Errorf("%.10q, %d: %d, %d unreadable of %d, %v", end, n, len(got), unreadable, bad, err)
			}
		}
		src.Close()
	}
}

// Several append and several look at once: nobody sees anything but a good log.
func TestTilesWhileOthersAppend(t *testing.T) {
	path, keys := aLog(t, 200)
	done := make(chan error, 4)
	for w := range 2 {
		go func() {
			l, err := OpenLog(path, Options{Keys: keys, RotateBytes: 60_000})
			for i := 0; err == nil && i < 200; i++ {
				_, err = l.Append(record.ToolResult{Tool: "time", Args: record.Raw(`{}`), Status: "allowed",
					Success: true, Output: fmt.Sprint(w, i)})
			}
			done <- errors.Join(err, l.Close())
		}()
	}
	for range 2 {
		go func() {
			var err error
			for i := 0; err == nil && i < 60; i++ {
				err = signSomething(path, keys)
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if a, err := ask(t, path, keys, 600); err != nil || a.number != 600 || !a.proven {
		t.Errorf("%+v, %v", a, err)
	}
}

// signSomething makes a checkpoint and a proof under it.
func signSomething(path, keys string) error {
	k, err := LoadKeys(keys)
	if err != nil {
		return err
	}
	src, err := Open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	signed, rep, err := Checkpoint(src, k)
	if err != nil || signed == nil {
		return fmt.Errorf("%+v, %w", rep, err)
	}
	later, err := Open(path)
	if err != nil {
		return err
	}
	defer later.Close()
	p, err := Prove(later, Trust{Keys: k, Public: k.Public, Against: signed}, rep.Count/2)
	if err != nil {
		return err
	}
	_, _, err = CheckProof(p.Encode(), k.Public)
	return err
}

// Where tiles cannot be written, receipts are, and all is answered as before.
func TestTilesThatCannotBeWritten(t *testing.T) {
	path, keys := aLog(t, 500)
	if err := os.WriteFile(tileDir(path), []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(path, Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 20 {
		if _, err := l.Append(record.ToolResult{Tool: "time", Args: record.Raw(`{}`), Status: "allowed", Success: true,
			Output: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := ask(t, path, keys, 300); err != nil || a.number != 300 || a.proven {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestTilesThroughLinks: wherever a link in place of the tiles, or in them, leads, nothing is written there.
func TestTilesThroughLinks(t *testing.T) {
	for _, name := range []string{"", "tile", "tile/0", "tile/1", "tile/1/000.p", "pages", "checkpoint", "tile/0/000"} {
		for _, whole := range []bool{true, false} {
			path, keys := aLog(t, 600)
			away := filepath.Join(t.TempDir(), "away")
			if whole { // what it leads to looks as the tiles do
				if _, err := ask(t, path, keys, 300); err != nil {
					t.Fatal(err)
				}
				os.MkdirAll(filepath.Dir(filepath.Join(tileDir(path), name)), 0o700)
				if err := os.Rename(filepath.Join(tileDir(path), name), away); err != nil {
					os.Mkdir(away, 0o700)
				}
			} else {
				os.MkdirAll(filepath.Dir(filepath.Join(tileDir(path), name)), 0o700)
				os.Mkdir(away, 0o700)
			}
			if err := os.Symlink(away, filepath.Join(tileDir(path), name)); err != nil {
				t.Fatal(err)
			}
			before := listing(t, away)
			for range 2 {
				if a, err := ask(t, path, keys, 300); err != nil || a.number != 300 {
					t.Errorf("%q: %+v, %v", name, a, err)
				}
			}
			appendSome(t, path, keys, 300)
			if after := listing(t, away); after != before {
				t.Errorf("%q: it was\n%s, and is\n%s", name, before, after)
			}
			if _, err := MakeTileDir(path); (err == nil) == (name == "") || err != nil &&
				!strings.Contains(err.Error(), "tiles is a symbolic link") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

// listing is all that is in a place, with its content and the times at which it was changed.
func listing(t *testing.T, place string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		fmt.Fprintln(&out, path, info.Mode(), info.Size(), info.ModTime())
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out.String()
}

func appendSome(t *testing.T, path, keys string, n int) {
	t.Helper()
	l, err := OpenLog(path, Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		if _, err := l.Append(record.ToolResult{Tool: "time", Args: record.Raw(`{}`), Status: "allowed", Success: true,
			Output: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
}
