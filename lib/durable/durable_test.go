package durable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const perProcess = 500

// TestMain lets the test binary be one of several processes that append, or one whose files may not grow.
func TestMain(m *testing.M) {
	path := os.Getenv("DURABLE_TEST")
	if path == "" {
		os.Exit(m.Run())
	}
	l, err := OpenLog(path, 0o600)
	if err == nil && os.Getenv("DURABLE_FULL") != "" {
		err = full(l)
	} else if err == nil {
		err = count(l)
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// count appends lines that each hold the number behind that of the line before, and as many x.
func count(l *Log) error {
	for range perProcess {
		err := l.AppendNext(false, func(e *End) ([]byte, error) {
			last, err := e.Last()
			if err != nil {
				return nil, err
			}
			torn := e.Torn
			n := 0
			if last != nil {
				if _, err := fmt.Sscan(string(last), &n); err != nil || torn {
					return nil, fmt.Errorf("last line %q, torn %t: %v", last, torn, err)
				}
			}
			return fmt.Appendf(nil, "%d %s", n+1, strings.Repeat("x", n+1)), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// full appends until the file may not grow any more.
func full(l *Log) error {
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000})
	for range 100 {
		if err := l.Append(bytes.Repeat([]byte("y"), 70), true); err != nil {
			return err
		}
	}
	return nil
}

func child(t *testing.T, path string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "DURABLE_TEST="+path), env...)
	return cmd
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func open(t *testing.T, path string) *Log {
	t.Helper()
	l, err := OpenLog(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Numbers without gap or repetition show that the lines are whole and that every process saw the others' last line.
func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	cmds := []*exec.Cmd{child(t, path), child(t, path)}
	out := make([]bytes.Buffer, len(cmds))
	for i, c := range cmds {
		c.Stdout = &out[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Fatalf("%v: %s", err, out[i].String())
		}
	}
	lines := strings.SplitAfter(read(t, path), "\n")
	if len(lines) != len(cmds)*perProcess+1 {
		t.Fatalf("%d lines", len(lines)-1)
	}
	for i, l := range lines[:len(lines)-1] {
		if want := fmt.Sprintf("%d %s\n", i+1, strings.Repeat("x", i+1)); l != want {
			t.Fatalf("line %d is %.80q", i+1, l)
		}
	}
}

func TestOneProcessManyUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	shared, own := open(t, path), open(t, path)
	errs := make(chan error, 4)
	for _, l := range []*Log{shared, shared, shared, own} {
		go func() { errs <- count(l) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(read(t, path), "\n"); n != 4*perProcess {
		t.Errorf("%d lines", n)
	}
}

func TestFullDiskLeavesWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	out, err := child(t, path, "DURABLE_FULL=1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "error: append a line of 70 bytes to "+path) {
		t.Errorf("a full disk was not noticed: %s", out)
	}
	if b := read(t, path); len(b) == 0 || len(b)%71 != 0 {
		t.Errorf("part of a line was left: %d bytes", len(b))
	}
}

// short writes the first half and then fails, as a disk does that becomes full.
func short(f *os.File, b []byte) (int, error) {
	n, _ := f.Write(b[:len(b)/2])
	return n, syscall.ENOSPC
}

func TestFailedWriteIsTakenBack(t *testing.T) {
	for _, before := range []string{"", "one\n", "one\ntw"} {
		path := filepath.Join(t.TempDir(), "log")
		os.WriteFile(path, []byte(before), 0o600)
		l := open(t, path)
		l.write = short
		if err := l.Append([]byte("a longer line"), true); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("behind %q: %v", before, err)
		}
		if b := read(t, path); b != before {
			t.Errorf("behind %q there is now %q", before, b)
		}
	}
}

// A write that can be neither finished nor taken back leaves what a crash leaves, and the next log recovers it.
func TestTornLineIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	l.Append([]byte("one"), true)
	l.write = func(f *os.File, b []byte) (int, error) {
		n, err := short(f, b)
		f.Close()
		return n, err
	}
	if err := l.Append([]byte("three"), true); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("does not say that part of the line stays: %v", err)
	}
	if err := open(t, path).Append([]byte("four"), true); err != nil {
		t.Fatal(err)
	}
	if b := read(t, path); b != "one\nthr\nfour\n" {
		t.Errorf("%q", b)
	}
}

func TestAppendNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	var last string
	var torn bool
	next := func(line string) error {
		return l.AppendNext(true, func(e *End) ([]byte, error) {
			b, err := e.Last()
			last, torn = string(b), e.Torn
			if err != nil {
				return nil, err
			}
			return []byte(line), nil
		})
	}
	for _, c := range []struct {
		before, wantLast string
		wantTorn         bool
	}{{"", "", false}, {"one\ntwo\n", "two", false}, {"one\ntwo\nthr", "two", true}, {"thr", "", true},
		{"\n", "", false},
		{"one\n\n", "", false}, {"a\n" + strings.Repeat("b", firstChunk-1) + "\n", strings.Repeat("b", firstChunk-1),
			false},
		{strings.Repeat("a", 9<<20) + "\n" + strings.Repeat("b", 8<<20) + "\nc", strings.Repeat("b", 8<<20), true}} {
		os.WriteFile(path, []byte(c.before), 0o600)
		if err := next("x"); err != nil {
			t.Fatal(err)
		}
		if last != c.wantLast || torn != c.wantTorn {
			t.Errorf("behind %.20q: last %.20q torn %t", c.before, last, torn)
		}
		if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), c.before) || !strings.HasSuffix(string(b), "x\n") {
			t.Errorf("behind %.20q: %.40q", c.before, b)
		}
	}
	if err := next("y"); err != nil || last != "x" {
		t.Errorf("last %q, %v", last, err)
	}
	os.Rename(path, path+".old")
	if err := next("z"); err != nil || last != "" {
		t.Errorf("behind a file that was moved away: last %q, %v", last, err)
	}
	os.Remove(path)
	os.Symlink(path+".old", path)
	if err := next("x"); err == nil {
		t.Error("followed a symbolic link that took the log's place")
	}
	os.Remove(path)
	if err := next("one"); err != nil || read(t, path) != "one\n" {
		t.Errorf("did not recover: %v", err)
	}
}

func TestAppendRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	if err := l.Append([]byte("two\nlines"), false); err == nil {
		t.Error("wrote two lines as one")
	}
	why := errors.New("why")
	if err := l.AppendNext(false, func(*End) ([]byte, error) { return []byte("x"), why }); err != why {
		t.Errorf("%v", err)
	}
	l.Close()
	if err := l.Append([]byte("late"), false); err == nil {
		t.Error("appended to a closed log")
	}
	if b := read(t, path); b != "" {
		t.Errorf("wrote %q", b)
	}
}

func TestLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	long := bytes.Repeat([]byte("z"), 8<<20)
	if err := open(t, path).Append(long, true); err != nil {
		t.Fatal(err)
	}
	err := open(t, path).AppendNext(true, func(e *End) ([]byte, error) {
		last, err := e.Last()
		if err != nil || !bytes.Equal(last, long) || e.Torn {
			t.Errorf("%d bytes, torn %t, %v", len(last), e.Torn, err)
		}
		return []byte("end"), nil
	})
	if err != nil || len(read(t, path)) != len(long)+5 {
		t.Errorf("%v", err)
	}
}

// zeros is a file that a broken file system filled with one byte.
type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) { return len(b), nil }

func TestLastLineIsBounded(t *testing.T) {
	if line, err := lastLine(zeros{}, 1<<50); err == nil {
		t.Errorf("took %d bytes for a line", len(line))
	}
}

// FuzzLastLine compares with splitting the whole file.
func FuzzLastLine(f *testing.F) {
	f.Add("a\nb\nc", uint16(0))
	f.Add("\n\n", uint16(firstChunk-1))
	f.Fuzz(func(t *testing.T, s string, pad uint16) {
		s = s + strings.Repeat("p", int(pad)) + s
		var want []byte
		if lines := strings.Split(s, "\n"); len(lines) > 1 {
			want = []byte(lines[len(lines)-2])
		}
		got, err := lastLine(strings.NewReader(s), int64(len(s)))
		if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("%.40q, want %.40q, %v", got, want, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("/dev/null", dir+"/link")
	syscall.Mkfifo(dir+"/fifo", 0o600)
	for _, p := range []string{dir + "/link", dir + "/fifo", dir, dir + "/none/x", "/dev/null"} {
		if l, err := OpenLog(p, 0o600); err == nil {
			l.Close()
			t.Errorf("opened %s", p)
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/f"
	for _, text := range []string{"one", "", "three"} {
		if err := Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(path)
		info, _ := os.Stat(path)
		if string(b) != text || info.Mode().Perm() != 0o640 {
			t.Errorf("%q, %o", b, info.Mode().Perm())
		}
	}
	if err := Replace(dir+"/none/f", nil, 0o600); err == nil {
		t.Error("no directory, no error")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func BenchmarkAppendSync(b *testing.B) {
	l, err := OpenLog(filepath.Join(b.TempDir(), "log"), 0o600)
	if err != nil {
		b.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 500)
	for b.Loop() {
		if err := l.Append(line, true); err != nil {
			b.Fatal(err)
		}
	}
}
