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
	return record.ToolResult{ID: fmt.Sprint("call-", i), ConversationID: "conv-1", Tool: "time", Args: record.Raw(`{}`),
		Status:  "allowed",
		Success: true, Output: fmt.Sprint(i), Verdict: &record.Verdict{Risk: "low"}}
}

// home makes an empty log with keys.
func home(t testing.TB) (string, Options) {
	t.Helper()
	dir := t.TempDir()
	path, o := filepath.Join(dir, "receipts.log"), Options{Keys: filepath.Join(dir, "keys")}
	if made, err := CreateKeys(o.Keys, path); err != nil || !made {
		t.Fatal(made, err)
	}
	return path, o
}

func openLog(t testing.TB, path string, o Options) *Log {
	t.Helper()
	l, err := OpenLog(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func keysOf(t testing.TB, o Options) *Keys {
	t.Helper()
	k, err := LoadKeys(o.Keys)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// chain writes n receipts and returns the log's path, its options and its lines, the last without its newline.
func chain(t testing.TB, n int) (string, Options, [][]byte) {
	t.Helper()
	path, o := home(t)
	l := openLog(t, path, o)
	for i := range n {
		if _, err := l.Append(result(i)); err != nil {
			t.Fatal(err)
		}
	}
	return path, o, bytes.SplitAfter(bytes.TrimSuffix(read(t, path), []byte("\n")), []byte("\n"))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// verify replays bytes, which have no head.
func verify(t testing.TB, log []byte, k *Keys) Report {
	t.Helper()
	rep, err := Verify(bytes.NewReader(log), Trust{Keys: k, Require: LevelMac})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// verifyFile replays a log where it lies, with its parts and its head.
func verifyFile(t testing.TB, path string, trust Trust) Report {
	t.Helper()
	src, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	rep, err := Verify(src, trust)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestTampering(t *testing.T) {
	_, o, lines := chain(t, 5)
	k := keysOf(t, o)
	lines[4] = append(lines[4], '\n')
	if rep := verify(t, bytes.Join(lines, nil), k); !rep.Valid || rep.Count != 5 || rep.Level != LevelMac {
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
		{"trailing text", [][]byte{lines[0], append(bytes.TrimSuffix(bytes.Clone(lines[1]), []byte("\n")), "x\n"...)},
			2},
		{"closing brace of the last changed",
			[][]byte{lines[0], lines[1], append(bytes.TrimSuffix(bytes.Clone(lines[2]), []byte("}\n")), "]\n"...)}, 3},
		{"long line that begins like a receipt",
			[][]byte{lines[0], append([]byte(`{"id":"receipt-`), append(bytes.Repeat([]byte("x"), 9000), '\n')...),
				lines[1]}, 2},
		{"time in another form", replace(2, `Z"`, `+00:00"`), 3},
		{"torn line of other fields", [][]byte{lines[0], []byte(`{"id":"receipt-1","note":"hello"` + "\n"), lines[1]},
			2},
		{"no object", [][]byte{lines[0], []byte("[]\n"), lines[1]}, 2},
		{"huge line", [][]byte{lines[0], bytes.Repeat([]byte("x"), 1<<20), []byte("\n")}, 2},
		{"a blank", replace(1, `","tool"`, `", "tool"`), 2},
		{"a return", replace(1, "}\n", "}\r\n"), 2},
		{"two fields in the other order", replace(3, `"status":"allowed","risk":"low"`,
			`"risk":"low","status":"allowed"`), 4},
		{"an escaped letter", replace(1, `"time"`, `"tim\u0065"`), 2},
		{"mac stripped", [][]byte{lines[0], strip(lines[1]), lines[2]}, 2},
		{"all macs stripped", [][]byte{strip(lines[0]), strip(lines[1]), strip(lines[2])}, 1},
		{"mac of another receipt", [][]byte{lines[0],
			append(lines[1][:len(lines[1])-67:len(lines[1])-67], lines[0][len(lines[0])-67:]...)}, 2},
		{"an unfinished line in the middle", [][]byte{lines[0], []byte(`{"id":"receipt-` + "\n"), lines[1]}, 2},
	} {
		rep := verify(t, bytes.Join(c.lines, nil), k)
		if rep.Valid || rep.FirstBad != c.bad || rep.Reason == "" {
			t.Errorf("%s: %+v, want first bad %d", c.name, rep, c.bad)
		}
	}
}

// strip takes the mac off a line.
func strip(line []byte) []byte {
	at := bytes.Index(line, []byte(`,"mac":"`))
	return append(line[:at:at], "}\n"...)
}

func TestTornTail(t *testing.T) {
	path, o, lines := chain(t, 3)
	k := keysOf(t, o)
	whole := append(bytes.Join(lines, nil), '\n')
	for cut := 2; cut <= len(lines[2]); cut++ {
		rep := verify(t, whole[:len(whole)-cut], k)
		if !rep.Valid || rep.Count != 2 || !rep.TornTail || !strings.Contains(rep.Evidence, "last line is incomplete") {
			t.Fatalf("torn after %d bytes: %+v", len(lines[2])+1-cut, rep)
		}
		// the head counts three: that is no crash
		os.WriteFile(path, whole[:len(whole)-cut], 0o600)
		if rep := verifyFile(t, path, Trust{Keys: k}); rep.Valid || rep.FirstBad != 3 || rep.Head != Disagrees {
			t.Fatalf("cut after %d bytes: %+v", len(lines[2])+1-cut, rep)
		}
	}
	if rep := verify(t, whole[:len(whole)-1], k); rep.Count != 3 || !rep.TornTail {
		t.Errorf("without the last newline: %+v", rep)
	}
	if _, err := openLog(t, path, o).Append(result(4)); !errors.Is(err, ErrTampered) {
		t.Errorf("a log whose tail was cut goes on: %v", err)
	}
}

// TestTornByCrash: a process died while it wrote the fourth receipt, or before it wrote its newline, or before the
// head.
func TestTornByCrash(t *testing.T) {
	path, o, lines := chain(t, 4)
	k := keysOf(t, o)
	whole := append(bytes.Join(lines, nil), '\n')
	third, _ := Parse(bytes.TrimSuffix(lines[2], []byte("\n")))
	three := len(whole) - len(lines[3]) - 1
	for _, left := range []int{1, 20, len(lines[3]) - 1, len(lines[3]), len(lines[3]) + 1} {
		os.WriteFile(path, whole[:three+left], 0o600)
		if err := replaceHead(path, k, head{3, third.ReceiptHash, int64(three)}); err != nil {
			t.Fatal(err)
		}
		want := 3 + left/len(lines[3])
		rep := verifyFile(t, path, Trust{Keys: k})
		if !rep.Valid || rep.Count != want || rep.TornTail != (left <= len(lines[3])) ||
			(rep.Head == Agrees) != (want == 3) {
			t.Fatalf("%d bytes: %+v", left, rep)
		}
		for i := range 2 {
			if _, err := openLog(t, path, o).Append(result(i)); err != nil {
				t.Fatalf("%d bytes: a torn tail bricks the log: %v", left, err)
			}
		}
		if rep := verifyFile(t, path, Trust{Keys: k}); !rep.Valid || rep.Count != want+2 || rep.TornTail ||
			rep.Head != Agrees {
			t.Fatalf("%d bytes, then appended: %+v", left, rep)
		}
	}
	if kept, _ := filepath.Glob(path + ".d/torn-*"); len(kept) != 3 {
		t.Errorf("what was torn is kept: %q", kept)
	}
}

func TestTamperedEndIsNotContinued(t *testing.T) {
	for name, tamper := range map[string]func(path string, log []byte){
		"last edited": func(path string, log []byte) {
			i := bytes.LastIndex(log, []byte(`"tool":"time"`))
			copy(log[i:], `"tool":"tame"`)
			os.WriteFile(path, log, 0o600)
		},
		"something behind it":       func(path string, log []byte) { os.WriteFile(path, append(log, "x\n"...), 0o600) },
		"something without newline": func(path string, log []byte) { os.WriteFile(path, append(log, "x"...), 0o600) },
		"last removed": func(path string, log []byte) {
			os.WriteFile(path, log[:bytes.LastIndexByte(log[:len(log)-1], '\n')+1], 0o600)
		},
		"emptied":    func(path string, _ []byte) { os.WriteFile(path, nil, 0o600) },
		"removed":    func(path string, _ []byte) { os.Remove(path) },
		"no head":    func(path string, _ []byte) { os.Remove(headPath(path)) },
		"empty head": func(path string, _ []byte) { os.WriteFile(headPath(path), nil, 0o600) },
		"edited head": func(path string, _ []byte) {
			h, _ := os.ReadFile(headPath(path))
			os.WriteFile(headPath(path), bytes.Replace(h, []byte("\n3\n"), []byte("\n2\n"), 1), 0o600)
		},
	} {
		path, o, _ := chain(t, 3)
		tamper(path, bytes.Clone(read(t, path)))
		if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); rep.Valid {
			t.Errorf("%s: verify found nothing: %+v", name, rep)
		}
		l, err := OpenLog(path, o)
		if err == nil {
			_, err = l.Append(result(3))
		}
		if !errors.Is(err, ErrTampered) {
			t.Errorf("%s: the log goes on: %v", name, err)
		}
	}
}

func TestOddCallsGetReceipts(t *testing.T) {
	path, o := home(t)
	l := openLog(t, path, o)
	names := []string{"", "tïme", "a\x1b[2Jb", "a%1B", strings.Repeat("x", 5000), strings.Repeat("x", 5001), "\xff",
		`"}`, "..."}
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
	if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || rep.Count != len(names) ||
		rep.Level != LevelHead {
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
	path, o := home(t)
	o.RotateBytes = 20_000
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l, err := OpenLog(path, o)
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
	if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || rep.Count != 200 || rep.Head != Agrees {
		t.Errorf("%+v", rep)
	}
}

func list(log []byte, f Filter) (out []Receipt, unreadable int, err error) {
	unreadable, err = List(bytes.NewReader(log), f, func(_ int, r Receipt) error { out = append(out, r); return nil })
	return out, unreadable, err
}

func TestListAndFind(t *testing.T) {
	_, _, lines := chain(t, 9)
	log := bytes.Join(lines, nil)
	all, _, err := list(log, Filter{})
	if err != nil || len(all) != 9 || all[1].PreviousHash != all[0].ReceiptHash {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, c := range []struct {
		f    Filter
		want int
	}{{Filter{Status: "denied"}, 0}, {Filter{Status: "allowed", Risk: "low", Tool: "time", Conversation: "conv-"}, 9},
		{Filter{Tool: "tim"}, 0}, {Filter{Risk: "high"}, 0},
		{Filter{Conversation: "conv-2"}, 0}, {Filter{Since: all[0].Timestamp}, 9}, {Filter{Until: all[0].Timestamp}, 0},
		{Filter{Since: "2999"}, 0}} {
		if got, _, err := list(log, c.f); len(got) != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c.f, len(got), err)
		}
	}
	if got, bad, _ := list(append([]byte("x\n"), log...), Filter{}); len(got) != 9 || bad != 1 {
		t.Errorf("%+v", got)
	}
	huge := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	if got, bad, err := list(append(huge, log...), Filter{}); len(got) != 9 || bad != 1 || err != nil {
		t.Errorf("behind a huge line: %d receipts, %d unreadable, %v", len(got), bad, err)
	}
	r, _ := Parse(bytes.TrimSuffix(lines[4], []byte("\n")))
	if got, n, _, err := Find(bytes.NewReader(log), r.ID, nil); err != nil || n != 5 || got != r {
		t.Errorf("%+v, %d, %v", got, n, err)
	}
	for _, id := range []string{"", "receipt", "receipt-zzz", "receipt-"} {
		if _, _, _, err := Find(bytes.NewReader(log), id, nil); err == nil {
			t.Errorf("found %q", id)
		}
	}
	if rep := verify(t, nil, nil); rep.Chain != Intact || rep.Count != 0 {
		t.Errorf("an empty log: %+v", rep)
	}
}

// TestReadErrors: a log that cannot be read is neither intact nor broken.
func TestReadErrors(t *testing.T) {
	_, _, lines := chain(t, 3)
	broken := func() io.Reader {
		return io.MultiReader(bytes.NewReader(lines[0]), iotest.ErrReader(errors.New("disk on fire")))
	}
	if _, err := Verify(broken(), Trust{}); err == nil {
		t.Error("Verify: no error")
	}
	if _, err := List(broken(), Filter{}, func(int, Receipt) error { return nil }); err == nil {
		t.Error("List: no error")
	}
	if _, _, _, err := Find(broken(), "receipt-0", nil); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("Find: %v", err)
	}
}

// TestHashIsCanonical holds the hash, which is computed without the canonicaliser, to the definition.
func TestHashIsCanonical(t *testing.T) {
	var all strings.Builder
	for c := ' '; c <= '~'; c++ {
		all.WriteRune(c)
	}
	r, _, err := of(result(1), Attestation{})
	if err != nil {
		t.Fatal(err)
	}
	r.Attestation = ""
	unmarked := lineOf(r)
	h, err := record.Hash(bytes.Replace(unmarked.encode(), []byte(`,"receipt_hash":"`+Genesis+`"`), nil, 1))
	var old [64]byte
	if unmarked.sum(&old, nil); err != nil || string(old[:]) != h {
		t.Errorf("without an attestation: %s, want %s, %v", old, h, err)
	}
	r.Attestation = Unattested
	r.Tool, r.ConversationID = all.String(), `\"/<>&`
	raw, err := record.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.Replace(raw, []byte(`,"receipt_hash":"`+Genesis+`"`), nil, 1)
	want, err := record.Hash(raw)
	// what stands in a line stands there as JSON has it
	r.Tool = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.Tool)
	r.ConversationID = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.ConversationID)
	l := lineOf(r)
	var got [64]byte
	if l.sum(&got, nil); err != nil || string(got[:]) != want {
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
