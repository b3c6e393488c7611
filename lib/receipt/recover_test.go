package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/lib/record"
)

var decided = time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)

// uuid is what the ids of the i-th line of an audit log and of its receipt share.
func uuid(i int) string { return fmt.Sprintf("01a1fd37-7cc0-7eb4-8bb9-%012x", i) }

// allowLine is a line of the audit log about a call that was allowed, whose permit expires a minute after decided.
func allowLine(i int) string {
	return fmt.Sprintf(`{"v":1,"kind":"audit","id":"audit-%s","call_id":"call-%d","conversation_id":"conv-1","tool":"time","args_sha256":%q,"args_hash":%q,"decision":"allow","risk":"low","expires_at":"2026-05-12T14:01:00.000Z"}`+"\n",
		uuid(i), i, hashOf("{}"), hashOf("{}"))
}

func hashOf(s string) string { return record.HashBytes([]byte(s)) }

// allowed is the result of the i-th call.
func allowed(i int) record.ToolResult {
	r := result(i)
	r.Verdict = &record.Verdict{Risk: "low", Decision: record.Allow, AuditID: "audit-" + uuid(i),
		ExpiresAt: "2026-05-12T14:01:00.000Z"}
	return r
}

// sealed is what claw-exec vouches for by the seal on the result of a call that it ran.
func sealed(res record.ToolResult) Attestation {
	return Attestation{By: "0123456789abcdef", Seal: record.NewID(sealPrefix), Audit: res.Verdict.AuditID}
}

// crashed is a home with an audit log.
type crashed struct {
	t     *testing.T
	path  string
	o     Options
	audit string
	opts  RecoverOptions
}

func newCrashed(t *testing.T, audit string) *crashed {
	path, o := home(t)
	c := &crashed{t: t, path: path, o: o, audit: filepath.Join(filepath.Dir(path), "audit.jsonl")}
	c.opts = RecoverOptions{Audit: c.audit, Quiet: true, Now: decided.Add(time.Minute)}
	c.put(audit)
	return c
}

func (c *crashed) put(audit string) {
	c.t.Helper()
	if err := os.WriteFile(c.audit, []byte(audit), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// recover returns the numbers of the calls whose receipts it wrote, in the order in which they stand in the log.
func (c *crashed) recover() (written []int, pending int) {
	c.t.Helper()
	l, err := OpenLog(c.path, c.o)
	if err != nil {
		c.t.Fatal(err)
	}
	defer l.Close()
	r, err := l.Recover(c.opts)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, x := range r.Written {
		var n int
		fmt.Sscanf(strings.TrimPrefix(x.ID, idPrefix+uuid(0)[:24]), "%x", &n)
		written = append(written, n)
	}
	if rep := verifyFile(c.t, c.path, Trust{Keys: keysOf(c.t, c.o), Require: LevelHead}); !rep.Valid {
		c.t.Fatalf("recover leaves a log that is not valid: %+v", rep)
	}
	return written, r.Pending
}

func (c *crashed) expect(what string, want ...int) {
	c.t.Helper()
	if got, pending := c.recover(); !slices.Equal(got, want) || pending != 0 {
		c.t.Errorf("%s: wrote %v, want %v; pending %d", what, got, want, pending)
	}
}

func (c *crashed) append(i int) (Receipt, error) {
	l, err := OpenLog(c.path, c.o)
	if err != nil {
		c.t.Fatal(err)
	}
	defer l.Close()
	return l.AppendSealed(allowed(i), sealed(allowed(i)))
}

// A call is over when its permit has expired, if nothing runs; else only when no tool may take as long.
func TestRecoverWaitsForWhatMayRun(t *testing.T) {
	for _, x := range []struct {
		quiet bool
		after time.Duration
		over  bool
	}{{true, 59999 * time.Millisecond, false}, {true, time.Minute, true}, {false, time.Minute, false},
		{false, 6*time.Minute - 1, false}, {false, 6 * time.Minute, true}} {
		c := newCrashed(t, allowLine(1)+allowLine(2))
		if _, err := c.append(1); err != nil {
			t.Fatal(err)
		}
		c.opts.Quiet, c.opts.Patience, c.opts.Now = x.quiet, 5*time.Minute, decided.Add(x.after)
		written, pending := c.recover()
		if x.over != slices.Equal(written, []int{2}) || x.over != (pending == 0) || pending+len(written) != 1 {
			t.Errorf("%+v: wrote %v, pending %d", x, written, pending)
		}
	}
}

// A result that comes after its call was taken for interrupted is refused: one call, one receipt, and the first one
// stands.
func TestLateResultIsRefused(t *testing.T) {
	c := newCrashed(t, allowLine(1))
	c.expect("interrupted", 1)
	if _, err := c.append(1); !errors.Is(err, ErrExists) {
		t.Errorf("the late result: %v", err)
	}
	c.expect("again")
}

// What the receipts say does not hang on the note of how far was looked: without it, with nonsense in it, and with
// another audit log than it was made for, no call gets a second receipt, and none is forgotten.
func TestRecoverTrustsNoNote(t *testing.T) {
	all := allowLine(1) + allowLine(2) + allowLine(3)
	for name, spoil := range map[string]func(c *crashed, note string){
		"gone":        func(c *crashed, note string) { os.Remove(note) },
		"no JSON":     func(c *crashed, note string) { os.WriteFile(note, []byte("nonsense\x00{"), 0o600) },
		"a directory": func(c *crashed, note string) { os.Remove(note); os.Mkdir(note, 0o700) },
		"empty":       func(c *crashed, note string) { os.WriteFile(note, nil, 0o600) },
		"receipts too far": func(c *crashed, note string) {
			os.WriteFile(note, []byte(`{"audit_bytes":0,"receipts_bytes":900}`), 0o600)
		},
		"beyond the end": func(c *crashed, note string) {
			os.WriteFile(note, []byte(`{"audit_bytes":0,"receipts_bytes":1e15}`), 0o600)
		},
		"no integers": func(c *crashed, note string) {
			os.WriteFile(note, []byte(`{"audit_bytes":-1,"receipts_bytes":"x"}`), 0o600)
		},
		"audit log away":    func(c *crashed, note string) { os.Remove(c.audit); c.expect("without an audit log") },
		"audit log emptied": func(c *crashed, note string) { c.put(""); c.expect("with an empty one") },
		"shorter audit log": func(c *crashed, note string) { c.put(allowLine(3)); c.expect("with a shorter one") },
		"longer audit log": func(c *crashed, note string) {
			c.put(allowLine(7) + all)
			c.expect("with another one", 7)
		},
		"another of its size": func(c *crashed, note string) {
			c.put(allowLine(7) + allowLine(8) + allowLine(9))
			c.expect("with another one", 7, 8, 9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrashed(t, all)
			if _, err := c.append(2); err != nil {
				t.Fatal(err)
			}
			c.expect("at first", 1, 3)
			spoil(c, filepath.Join(sideDir(c.path), "recovered"))
			c.put(all)
			if name == "a directory" { // it cannot be replaced, and that is said
				l := openLog(t, c.path, c.o)
				if r, err := l.Recover(c.opts); err == nil || len(r.Written) != 0 {
					t.Errorf("wrote %v, %v", r.Written, err)
				}
				return
			}
			c.expect("with the log back")
			c.put(all + allowLine(4))
			c.expect("with one more", 4)
		})
	}
}

// Lines that are none do not keep the others from their receipts.
func TestRecoverFromADamagedAuditLog(t *testing.T) {
	long := strings.Replace(allowLine(2), `"risk"`, `"reason":"`+strings.Repeat("x", 1<<20)+`","risk"`, 1)
	torn := allowLine(5)[:100]
	c := newCrashed(t, "\x00\xff garbage\n\n[]\nnull\n{}\n"+allowLine(1)+
		`{"kind":"audit","id":"audit-../../x","decision":"allow"}`+"\n"+
		strings.Replace(allowLine(4), `"allow"`, `"deny"`, 1)+long+torn+"\n"+allowLine(3)+allowLine(3)+torn)
	c.expect("damaged", 1, 2, 3)
	c.expect("again")
	f, err := os.OpenFile(c.audit, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(allowLine(5)[100:]) // it was not torn, but still being written
	c.expect("whole now", 5)
}

// An allowed line of which no receipt can be made is told, and the others get theirs. It stays in the audit log: that
// it is told again does not take a look at the whole log of receipts at each start.
func TestRecoverTellsOfALineThatSaysNothing(t *testing.T) {
	empty := `{"v":1,"kind":"audit","id":"audit-` + uuid(2) + `","decision":"allow"}` + "\n"
	c := newCrashed(t, allowLine(1)+empty+allowLine(3))
	l := openLog(t, c.path, c.o)
	r, err := l.Recover(c.opts)
	if err == nil || !strings.Contains(err.Error(), uuid(2)) || len(r.Written) != 2 {
		t.Errorf("wrote %d, %v", len(r.Written), err)
	}
	mustAppend(t, l, 30)
	// who looks at all finds this
	put(t, c.path, bytes.Replace(read(t, c.path), []byte(`"risk":"low"`), []byte(`"risk":"LOW"`), 1))
	if _, err := openLog(t, c.path, c.o).Recover(c.opts); err == nil || !strings.Contains(err.Error(), uuid(2)) ||
		errors.Is(err, ErrTampered) {
		t.Error(err)
	}
}

// Two that recover at once write one receipt a call.
func TestTwoRecoverAtOnce(t *testing.T) {
	var audit strings.Builder
	const calls = 50
	for i := range calls {
		audit.WriteString(allowLine(i))
	}
	c := newCrashed(t, audit.String())
	total := make(chan int, 4)
	for range cap(total) {
		l := openLog(t, c.path, c.o)
		go func() {
			r, err := l.Recover(c.opts)
			if err != nil {
				t.Error(err)
			}
			total <- len(r.Written)
		}()
	}
	sum := 0
	for range cap(total) {
		sum += <-total
	}
	if sum != calls || strings.Count(string(read(t, c.path)), "\n") != calls {
		t.Errorf("%d were written: %d lines", sum, strings.Count(string(read(t, c.path)), "\n"))
	}
	c.expect("again")
}

// A receipt whose newline a crash has taken counts, and one of which only the beginning is left does not.
func TestRecoverBehindATornReceipt(t *testing.T) {
	for name, x := range map[string]struct {
		cut  int
		want []int
	}{"newline": {1, []int{2, 3}}, "mac": {20, []int{1, 2, 3}}, "most": {300, []int{1, 2, 3}}} {
		t.Run(name, func(t *testing.T) {
			c := newCrashed(t, allowLine(1)+allowLine(2)+allowLine(3))
			head := headPath(c.path)
			old := read(t, head)
			if _, err := c.append(1); err != nil {
				t.Fatal(err)
			}
			if x.cut > 1 { // the head is written behind the receipt
				os.WriteFile(head, old, 0o600)
			}
			log := read(t, c.path)
			os.WriteFile(c.path, log[:len(log)-x.cut], 0o600)
			c.expect("torn", x.want...)
			c.expect("again")
			c.put(string(read(t, c.audit)) + allowLine(4))
			c.expect("with one more", 4)
		})
	}
}
