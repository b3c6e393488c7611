package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// damaged is what a home's log, its head and an older part of it are changed to; a nil file is removed.
type damaged struct {
	name            string
	log, head, part []byte
	hidden          bool // the same size, and far from the end: only Verify finds it
}

// damages are changes of a log of many receipts: of each line of it, of its size and count, and of its head.
func damages(log, head, part []byte) (all []damaged) {
	add := func(hidden bool, log []byte, format string, args ...any) {
		all = append(all, damaged{fmt.Sprintf(format, args...), log, head, part, hidden})
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(parts ...[][]byte) []byte {
		var b []byte
		for _, p := range parts {
			b = append(b, bytes.Join(p, nil)...)
		}
		return b
	}
	at := 0
	for i, l := range lines {
		before := len(log) - at
		if at += len(l); i%6 != 0 && i < len(lines)-3 {
			continue
		}
		far := before > window-3*len(l) // or so: what begins before the window is not looked at
		add(false, join(lines[:i], lines[i+1:]), "line %d removed", i)
		add(false, join(lines[:i+1], lines[i:]), "line %d doubled", i)
		add(false, join(lines, lines[i:i+1]), "line %d appended again", i)
		add(false, join(lines, lines[i:]), "lines from %d appended again", i)
		add(false, join(lines[i:]), "begins at line %d", i)
		add(false, join(lines[:i]), "cut before line %d", i)
		add(false, join(lines[:i], [][]byte{[]byte("\n")}, lines[i:]), "an empty line before %d", i)
		mac := bytes.LastIndex(l, []byte(`,"mac"`))
		add(false, join(lines[:i], [][]byte{l[:mac:mac], []byte("}\n")}, lines[i+1:]), "mac of line %d stripped", i)
		add(far, join(lines[:i], [][]byte{flipped(l, mac+10)}, lines[i+1:]), "mac of line %d changed", i)
		add(far, join(lines[:i], [][]byte{flipped(l, bytes.Index(l, []byte("result_hash"))+20)}, lines[i+1:]),
			"line %d changed", i)
		if i > 0 {
			add(far, join(lines[:i-1], [][]byte{l, lines[i-1]}, lines[i+1:]), "line %d moved", i)
		}
	}
	add(false, append(bytes.Clone(log), log...), "twice")
	for _, end := range []string{"\n", "x", "{}\n", "\x00\n", "  \n", "\r\n", strings.Repeat("y", 100_000) + "\n"} {
		add(false, append(bytes.Clone(log), end...), "%.5q behind it", end)
	}
	for i := range head {
		if i%7 == 0 {
			all = append(all, damaged{fmt.Sprintf("head changed at %d", i), log, flipped(head, i), part, false})
		}
	}
	none := []byte(nil)
	all = append(all, damaged{"no head", log, none, part, false}, damaged{"empty head", log, []byte{}, part, false},
		damaged{"half a head", log, head[:len(head)/2], part, false})
	if part == nil {
		return all
	}
	return append(all, damaged{"no part", log, head, none, false},
		damaged{"part cut", log, head, cutLast(part, 1), false},
		damaged{"part doubled", log, head, append(bytes.Clone(part), part...), false},
		damaged{"empty part", log, head, []byte{}, false}, damaged{"the log is the part", part, head, part, false},
		damaged{"no log", none, head, part, false})
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

func putOrRemove(t *testing.T, path string, b []byte) {
	t.Helper()
	os.Chmod(path, 0o600)
	err := os.WriteFile(path, b, 0o600)
	if b == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestNothingIsAppendedToADamagedLog: what Verify refuses, no receipt is appended to, by a process that opens the log
// and by one that has appended before; and what it accepts is continued. A change of the same size far from the end is
// the one that only Verify finds, and still does afterwards.
func TestNothingIsAppendedToADamagedLog(t *testing.T) {
	for _, rotated := range []bool{false, true} {
		t.Run(fmt.Sprint("rotated=", rotated), func(t *testing.T) {
			path, o := home(t)
			if mustAppend(t, openLog(t, path, o), 30); rotated {
				o.RotateBytes = 15 << 10
			}
			mustAppend(t, openLog(t, path, o), 15)
			log, head := read(t, path), read(t, headPath(path))
			part, _ := os.ReadFile(partPath(path, 0))
			o.RotateBytes = 0
			for _, d := range damages(log, head, part) {
				for _, opened := range []bool{false, true} {
					damagedOne(t, path, o, d, opened, [][]byte{log, head, part})
				}
			}
		})
	}
}

// damagedOne damages an intact log and appends to it.
func damagedOne(t *testing.T, path string, o Options, d damaged, opened bool, good [][]byte) {
	t.Helper()
	files := []string{path, headPath(path), partPath(path, 0)}
	for i, b := range good {
		putOrRemove(t, files[i], b)
	}
	l := openLog(t, path, o)
	defer l.Close()
	bad := [][]byte{d.log, d.head, d.part}
	if opened { // it has appended, and goes on
		mustAppend(t, l, 1)
		line := bytes.TrimPrefix(read(t, path), good[0])
		bad[0] = append(bytes.Clone(d.log), line...)
		if now := read(t, headPath(path)); bytes.Equal(d.head, good[1]) {
			bad[1] = now
		}
		d.hidden = d.hidden || bytes.Equal(bad[0], good[0])
	}
	for i, b := range bad {
		putOrRemove(t, files[i], b)
	}
	os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)) // file systems' clocks are coarse
	before := verifyFile(t, path, Trust{Keys: keysOf(t, o)})
	_, err := l.Append(result(99))
	what := fmt.Sprintf("%s, opened before: %v", d.name, opened)
	switch {
	case before.Valid && err != nil:
		t.Errorf("%s: it is valid, but %v", what, err)
	case !before.Valid && !d.hidden && !errors.Is(err, ErrTampered):
		t.Errorf("%s: invalid (receipt %d: %s), but appended: %v", what, before.FirstBad, before.Reason, err)
	case !before.Valid && verifyFile(t, path, Trust{Keys: keysOf(t, o)}).Valid:
		t.Errorf("%s: what was done is no longer to be seen", what)
	}
	for i := range files {
		// as a rotation that died
		if now, _ := os.ReadFile(files[i]); err != nil && !bytes.Equal(now, bad[i]) && !bytes.Equal(bad[0], d.part) {
			t.Errorf("%s: %s was changed", what, filepath.Base(files[i]))
		}
	}
}
