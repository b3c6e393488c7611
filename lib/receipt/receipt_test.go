package receipt

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"clawsh/lib/record"
)

func result(i int) record.ToolResult {
	return record.ToolResult{ID: fmt.Sprint("call-", i), ConversationID: "conv-1", Tool: "time", Args: record.Raw(`{}`), Status: "allowed",
		Success: true, Output: fmt.Sprint(i), Verdict: &record.Verdict{Risk: "low"}}
}

// chain writes n receipts and returns the log's path and lines.
func chain(t testing.TB, n int) (string, [][]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "receipts.log")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		if _, err := l.Append(result(i)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

func verify(t testing.TB, log []byte) Report {
	t.Helper()
	rep, err := Verify(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestTampering(t *testing.T) {
	_, lines := chain(t, 5)
	lines[4] = append(lines[4], '\n')
	if rep := verify(t, bytes.Join(lines, nil)); !rep.Valid || rep.Count != 5 {
		t.Fatalf("untouched: %+v", rep)
	}
	replace := func(i int, old, new string) [][]byte {
		out := slices.Clone(lines)
		out[i] = bytes.Replace(out[i], []byte(old), []byte(new), 1)
		return out
	}
	for _, c := range []struct {
		name  string
		lines [][]byte
		bad   int
	}{
		{"edited", replace(1, `"tool":"time"`, `"tool":"shell"`), 2},
		{"status edited", replace(2, `"allowed"`, `"denied"`), 3},
		{"other status", replace(2, `"allowed"`, `"perhaps"`), 3},
		{"unknown field", replace(1, `{"id"`, `{"x":"","id"`), 2},
		{"field in other case", replace(1, `"tool"`, `"Tool"`), 2},
		{"duplicate name", replace(1, `"tool":"time"`, `"tool":"shell","tool":"time"`), 2},
		{"a number", replace(1, `"tool":"time"`, `"tool":1`), 2},
		{"not ASCII", replace(1, `"tool":"time"`, `"tool":"timé"`), 2},
		{"first removed", lines[1:], 1},
		{"middle removed", slices.Delete(slices.Clone(lines), 2, 3), 3},
		{"swapped", [][]byte{lines[0], lines[2], lines[1], lines[3], lines[4]}, 2},
		{"duplicated", [][]byte{lines[0], lines[1], lines[1], lines[2]}, 3},
		{"inserted line", [][]byte{lines[0], []byte("{}\n"), lines[1]}, 2},
		{"inserted blank", [][]byte{lines[0], []byte("\n"), lines[1]}, 2},
		{"cut in the middle", [][]byte{lines[0], append(bytes.Clone(lines[1][:40]), '\n'), lines[2]}, 2},
		{"trailing text", [][]byte{lines[0], append(bytes.TrimSuffix(bytes.Clone(lines[1]), []byte("\n")), "x\n"...)}, 2},
		{"closing brace of the last changed", [][]byte{lines[0], lines[1], append(bytes.TrimSuffix(bytes.Clone(lines[2]), []byte("}\n")), "]\n"...)}, 3},
		{"long line that begins like a receipt", [][]byte{lines[0], append([]byte(`{"id":"receipt-`), append(bytes.Repeat([]byte("x"), 9000), '\n')...), lines[1]}, 2},
		{"time in another form", replace(2, `Z"`, `+00:00"`), 3},
		{"torn line of other fields", [][]byte{lines[0], []byte(`{"id":"receipt-1","note":"hello"` + "\n"), lines[1]}, 2},
		{"no object", [][]byte{lines[0], []byte("[]\n"), lines[1]}, 2},
		{"huge line", [][]byte{lines[0], bytes.Repeat([]byte("x"), 1<<20), []byte("\n")}, 2},
	} {
		rep := verify(t, bytes.Join(c.lines, nil))
		if rep.Valid || rep.FirstBad != c.bad || rep.Reason == "" {
			t.Errorf("%s: %+v, want first bad %d", c.name, rep, c.bad)
		}
	}
}

func TestTornTail(t *testing.T) {
	path, lines := chain(t, 3)
	whole := bytes.Join(lines, nil)
	for cut := 1; cut < len(lines[2]); cut++ {
		rep := verify(t, whole[:len(whole)-cut])
		if !rep.Valid || rep.Count != 2 || rep.Torn != 1 || !rep.TornTail || !strings.Contains(rep.Evidence, "last line") {
			t.Fatalf("torn after %d bytes: %+v", len(lines[2])-cut, rep)
		}
	}
	os.WriteFile(path, whole[:len(whole)-30], 0o600)
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := l.Append(result(i)); err != nil {
			t.Fatalf("a torn tail bricks the log: %v", err)
		}
	}
	b, _ := os.ReadFile(path)
	if rep := verify(t, b); !rep.Valid || rep.Count != 4 || rep.Torn != 1 || rep.TornTail || !strings.Contains(rep.Evidence, "unfinished") {
		t.Errorf("behind a torn line: %+v", rep)
	}
	os.WriteFile(path, whole, 0o600) // whole, but for its newline
	if _, err := l.Append(result(9)); err != nil {
		t.Fatal(err)
	}
	b, _ = os.ReadFile(path)
	if rep := verify(t, b); !rep.Valid || rep.Count != 4 {
		t.Errorf("behind a line without newline: %+v", rep)
	}
}

func TestTamperedEndIsNotContinued(t *testing.T) {
	path, _ := chain(t, 2)
	b, _ := os.ReadFile(path)
	os.WriteFile(path, bytes.Replace(b, []byte(`"risk":"low","previous_hash":"`+Genesis[:4]), []byte(`"risk":"high","previous_hash":"0000`), 1), 0o600)
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(result(3)); err != nil {
		t.Errorf("the end is intact: %v", err)
	}
	b, _ = os.ReadFile(path)
	i := bytes.LastIndex(b, []byte(`"tool":"time"`))
	copy(b[i:], `"tool":"tame"`)
	os.WriteFile(path, b, 0o600)
	if _, err := l.Append(result(4)); err == nil {
		t.Error("continued a chain whose end is no receipt")
	}
}

func TestOddCallsGetReceipts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"", "tïme", "a\x1b[2Jb", "a%1B", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "\xff", `"}`, "..."}
	seen := map[string]bool{}
	for _, n := range names {
		res := result(1)
		res.Tool, res.ConversationID, res.Verdict, res.Status = n, n, nil, "denied"
		res.Args = record.Raw(`{"n":9007199254740993}`)
		r, err := l.Append(res)
		if err != nil {
			t.Errorf("%.20q: %v", n, err)
		}
		if seen[r.Tool] || len(r.Tool) > maxText || r.Risk != "high" {
			t.Errorf("%.20q: %+v", n, r)
		}
		seen[r.Tool] = true
	}
	b, _ := os.ReadFile(path)
	if rep := verify(t, b); !rep.Valid || rep.Count != len(names) {
		t.Errorf("%+v", rep)
	}
	res := result(1)
	res.Verdict = &record.Verdict{Risk: "none at all"} // forged: the attempt leaves a receipt all the same
	if r, err := l.Append(res); err != nil || r.Risk != "high" {
		t.Errorf("an unknown risk: %+v, %v", r, err)
	}
	res.Status = "maybe"
	if _, err := l.Append(res); err == nil {
		t.Error("a receipt with a status that there is not")
	}
}

func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l, err := OpenLog(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			for i := range 25 {
				if _, err := l.Append(result(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b, _ := os.ReadFile(path)
	if rep := verify(t, b); !rep.Valid || rep.Count != 200 {
		t.Errorf("%+v", rep)
	}
}

func TestListAndFind(t *testing.T) {
	_, lines := chain(t, 9)
	log := bytes.Join(lines, nil)
	if got, _, err := List(bytes.NewReader(log), Filter{Limit: 2}); err != nil || len(got) != 2 || got[1].PreviousHash != got[0].ReceiptHash {
		t.Errorf("%+v, %v", got, err)
	}
	if got, bad, _ := List(bytes.NewReader(append([]byte("x\n"), log...)), Filter{Status: "denied"}); len(got) != 0 || bad != 1 {
		t.Errorf("%+v", got)
	}
	huge := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	if got, bad, err := List(bytes.NewReader(append(huge, log...)), Filter{}); len(got) != 9 || bad != 1 || err != nil {
		t.Errorf("behind a huge line: %d receipts, %d unreadable, %v", len(got), bad, err)
	}
	r, _ := parse(bytes.TrimSuffix(lines[4], []byte("\n")))
	unfinished := append(bytes.Clone(lines[0][:99]), '\n')
	for _, b := range [][]byte{log, append(unfinished, log...)} {
		if got, n, err := Find(bytes.NewReader(b), r.ID); err != nil || n != 5 || got != r {
			t.Errorf("%+v, %d, %v", got, n, err)
		}
	}
	for _, id := range []string{"", "receipt", "receipt-zzz", "receipt-"} {
		if _, _, err := Find(bytes.NewReader(log), id); err == nil {
			t.Errorf("found %q", id)
		}
	}
	if rep, err := Verify(strings.NewReader("")); err != nil || !rep.Valid || rep.Count != 0 {
		t.Errorf("an empty log: %+v, %v", rep, err)
	}
}

// TestReadErrors: a log that cannot be read is neither intact nor broken.
func TestReadErrors(t *testing.T) {
	_, lines := chain(t, 3)
	broken := func() io.Reader {
		return io.MultiReader(bytes.NewReader(lines[0]), iotest.ErrReader(errors.New("disk on fire")))
	}
	if _, err := Verify(broken()); err == nil {
		t.Error("Verify: no error")
	}
	if _, _, err := List(broken(), Filter{}); err == nil {
		t.Error("List: no error")
	}
	if _, _, err := Find(broken(), "receipt-0"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("Find: %v", err)
	}
}

// TestHashIsCanonical holds the hash, which is computed without the canonicaliser, to the definition.
func TestHashIsCanonical(t *testing.T) {
	var all strings.Builder
	for c := ' '; c <= '~'; c++ {
		all.WriteRune(c)
	}
	r, err := of(result(1))
	if err != nil {
		t.Fatal(err)
	}
	r.Tool, r.ConversationID = all.String(), `\"/<>&`
	got, err := r.hash()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := record.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.Replace(raw, []byte(`,"receipt_hash":""`), nil, 1)
	if want, err := record.Hash(raw); err != nil || got != want {
		t.Errorf("%s, want %s, %v", got, want, err)
	}
}

// TestEscapedNamesStayDifferent: the short name whose escaped form would be the shortened form of the long one.
func TestEscapedNamesStayDifferent(t *testing.T) {
	for i := range 200 {
		long := ascii(strings.Repeat("x", 500) + fmt.Sprint(i))
		at := strings.LastIndexByte(long, '%')
		c, err := hex.DecodeString(long[at+1 : at+3])
		if err != nil {
			c = []byte("%" + long[at+1:at+3])
		}
		if short := long[:at] + string(c) + long[at+3:]; ascii(short) == long {
			t.Fatalf("%q is written like another name", short)
		}
	}
}

// FuzzTamper changes one byte of a log: Verify must find it, in the right receipt.
func FuzzTamper(f *testing.F) {
	_, lines := chain(f, 4)
	log := append(bytes.Join(lines, nil), '\n')
	for _, at := range []int{0, 10, len(lines[0]) - 1, len(lines[0]), len(log) - 2, len(log) - 1} {
		for _, c := range []byte("x}\n\x00\" ") {
			f.Add(uint16(at), c)
		}
	}
	f.Fuzz(func(t *testing.T, at uint16, c byte) {
		b := bytes.Clone(log)
		i := int(at) % len(b)
		if b[i] == c {
			return
		}
		want := 1 + bytes.Count(b[:i], []byte("\n"))
		b[i] = c
		if rep := verify(t, b); rep.Valid || rep.FirstBad != want {
			t.Fatalf("byte %d to %q in receipt %d: %+v", i, c, want, rep)
		}
	})
}

// FuzzOrder removes, moves and doubles lines: Verify must find the first that is not where it was, and accept only a log
// whose tail is cut.
func FuzzOrder(f *testing.F) {
	_, lines := chain(f, 6)
	lines[5] = append(lines[5], '\n')
	for _, order := range []string{"", "\x00", "\x01", "\x00\x01\x01\x02", "\x00\x02\x01\x03\x04\x05", "\x00\x01\x02\x03\x04\x05\x00"} {
		f.Add([]byte(order))
	}
	f.Fuzz(func(t *testing.T, order []byte) {
		var log []byte
		want := 0
		for k, o := range order {
			i := int(o) % len(lines)
			log = append(log, lines[i]...)
			if i != k && want == 0 {
				want = k + 1
			}
		}
		if rep := verify(t, log); rep.FirstBad != want || rep.Valid != (want == 0) {
			t.Fatalf("order %v: %+v, want %d", order, rep, want)
		}
	})
}

// FuzzVerify: any bytes at all end in a report, and only lines that are receipts are counted as good ones.
func FuzzVerify(f *testing.F) {
	_, lines := chain(f, 2)
	f.Add(bytes.Join(lines, nil))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		rep := verify(t, log)
		if rep.Valid == (rep.FirstBad > 0) || rep.Valid == (rep.Reason != "") || rep.Evidence == "" {
			t.Fatalf("%+v", rep)
		}
		if n := bytes.Count(log, []byte("\n")) + 1; rep.Count+rep.Torn > n {
			t.Fatalf("%+v of %d lines", rep, n)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	_, lines := chain(b, 100)
	log := bytes.Join(lines, nil)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if rep, err := Verify(bytes.NewReader(log)); err != nil || !rep.Valid {
			b.Fatal(rep, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := OpenLog(filepath.Join(b.TempDir(), "r"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Append(result(1)); err != nil {
			b.Fatal(err)
		}
	}
}
