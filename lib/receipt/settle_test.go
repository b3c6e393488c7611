package receipt

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// TestTamperedBetween: a process that has the log open, and goes on from its own last receipt, sees what was done to
// the log since, as one that opens it does.
func TestTamperedBetween(t *testing.T) {
	for _, c := range []struct {
		name   string
		tamper func(log, head, oldHead []byte) (newLog, newHead []byte)
		want   error
		count  int // 0: the log is not valid afterwards
	}{
		{"nothing", func(log, head, _ []byte) ([]byte, []byte) { return log, head }, nil, 5},
		{"the head of a crash in between", func(log, _, old []byte) ([]byte, []byte) { return log, old }, nil, 5},
		{"a receipt edited", func(log, head, _ []byte) ([]byte, []byte) {
			at := bytes.LastIndex(log, []byte(`"tool":"time"`))
			return append(log[:at:at], bytes.Replace(log[at:], []byte("time"), []byte("tame"), 1)...), head
		}, ErrTampered, 0},
		{"the last receipt cut off", func(log, head, _ []byte) ([]byte, []byte) { return cutLast(log, 1), head },
			ErrTampered, 0},
		{"all others' receipts cut off", func(log, head, _ []byte) ([]byte, []byte) { return cutLast(log, 2), head },
			ErrTampered, 0},
		{"our receipt cut off too", func(log, head, _ []byte) ([]byte, []byte) { return cutLast(log, 3), head },
			ErrTampered, 0},
		{"a mac of another key", func(log, head, _ []byte) ([]byte, []byte) {
			return append(log[:len(log)-67:len(log)-67], []byte(Genesis+"\"}\n")...), head
		}, ErrTampered, 0},
		{"no head", func(log, _, _ []byte) ([]byte, []byte) { return log, nil }, ErrTampered, 0},
		{"an empty head", func(log, _, _ []byte) ([]byte, []byte) { return log, []byte{} }, ErrTampered, 0},
		{"a head that counts more", func(log, head, _ []byte) ([]byte, []byte) {
			return log, bytes.Replace(head, []byte("\n4\n"), []byte("\n9\n"), 1)
		}, ErrTampered, 0},
		{"a line that is no receipt", func(log, head, _ []byte) ([]byte, []byte) {
			return append(log, "{}\n"...),
				head
		}, ErrTampered, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, o := home(t)
			ours, theirs := openLog(t, path, o), openLog(t, path, o)
			mustAppend(t, theirs, 1)
			mustAppend(t, ours, 1)
			old := read(t, headPath(path))
			mustAppend(t, theirs, 2)
			log, head := c.tamper(read(t, path), read(t, headPath(path)), old)
			os.WriteFile(path, log, 0o600)
			if os.WriteFile(headPath(path), head, 0o600); head == nil {
				os.Remove(headPath(path))
			}
			if _, err := ours.Append(result(9)); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)})
			if c.count == 0 && rep.Valid {
				t.Errorf("what was done is no longer to be seen: %+v", rep)
			}
			if c.count > 0 && (!rep.Valid || rep.Count != c.count || rep.Head != Agrees) {
				t.Errorf("%+v", rep)
			}
		})
	}
}

// TestHeadInPlace: the head agrees after every append, also where it gets longer; a process that has it open sees one
// head, whole.
func TestHeadInPlace(t *testing.T) {
	path, o := home(t)
	k, a, b := keysOf(t, o), openLog(t, path, o), openLog(t, path, o)
	replaced := []int{}
	for n := 1; n <= 101; n++ {
		before, err := os.Stat(headPath(path))
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, []*Log{a, b}[n/3%2], 1)
		if rep := verifyFile(t, path, Trust{Keys: k}); !rep.Valid || rep.Head != Agrees || rep.HeadCount != n {
			t.Fatalf("%+v", rep)
		}
		if after, err := os.Stat(headPath(path)); err != nil || !os.SameFile(before, after) {
			replaced = append(replaced, n)
		}
	}
	if len(replaced) > 5 {
		t.Errorf("the head was replaced after receipts %v, want it only where its count or its size gets longer",
			replaced)
	}
}

func mustAppend(t *testing.T, l *Log, n int) {
	t.Helper()
	for i := range n {
		if _, err := l.Append(result(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// cutLast takes the last n lines off.
func cutLast(log []byte, n int) []byte {
	for range n {
		log = log[:bytes.LastIndexByte(log[:len(log)-1], '\n')+1]
	}
	return log
}
