package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// decisions appends lines about calls that were allowed long ago to the audit log.
func (c *crash) decisions(from, n int) {
	c.t.Helper()
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b,
			`{"v":1,"kind":"audit","id":"audit-01a1fd37-7cc0-7eb4-8bb9-%012x","ts":"2026-05-12T14:00:00.000Z","call_id":"call-old-%d","conversation_id":"conv-old","tool":"time","args_sha256":%q,"args_hash":%q,"decision":"allow","risk":"low","rule":"tool.low","reason":"tells the time","approval":"not_required","policy_hash":%q,"expires_at":"2026-05-12T14:01:00.000Z","nonce":"%032x"}`+"\n",
			i, i, record.HashBytes([]byte("{}")), record.HashBytes([]byte("{}")), record.HashBytes(nil), i)
	}
	f, err := os.OpenFile(filepath.Join(c.dir, "audit.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(b.String()); err != nil {
		c.t.Fatal(err)
	}
}

// one holds that each allowed call has one receipt, in a log that is valid.
func (c *crash) one(want int) {
	c.t.Helper()
	c.must("claw-receipt", "verify", "--require", "head")
	have := map[string]int{}
	for _, r := range readReceipts(c.t, c.dir) {
		if have[r.ID]++; have[r.ID] > 1 {
			c.t.Errorf("two receipts have the id %s", r.ID)
		}
	}
	for _, a := range readAudit(c.t, c.dir) {
		if a.Decision == "allow" && have[a.receiptID()] == 0 {
			c.t.Errorf("%s has no receipt", a.ID)
		}
	}
	if len(have) != want {
		c.t.Errorf("%d receipts, want %d", len(have), want)
	}
}

// A call that still runs is not taken for interrupted, although its permit has expired: its stages run.
func TestCrashRecoverLeavesRunningCalls(t *testing.T) {
	t.Parallel()
	c := newCrash(t)
	h := c.startChain(0, true)
	if h == nil {
		return
	}
	done := false
	defer func() {
		if !done {
			syscall.Kill(-h.stages[0].Process.Pid, syscall.SIGKILL)
			h.end()
		}
	}()
	workspace := filepath.Join(c.home, "clawsh-workspace")
	if err := os.WriteFile(filepath.Join(workspace, "go.sh"),
		[]byte("touch began; while ! [ -e go ]; do sleep 0.01; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(h.in,
		`{"v":1,"kind":"tool_call","id":"call-long","conversation_id":"conv-1","turn_id":"turn-1","tool":"shell","args":{"command":"sh go.sh"}}`)
	for end := time.Now().Add(patient); size(filepath.Join(c.dir, "audit.jsonl")) == 0 ||
		!there(filepath.Join(workspace, "began")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			said, _ := os.ReadFile(h.said)
			t.Fatalf("the call does not begin: %s", said)
		}
	}
	audit := filepath.Join(c.dir, "audit.jsonl")
	b, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	past := `"expires_at":"` + time.Now().Add(-10*time.Second).UTC().Format(record.TimeFormat) + `"`
	b = regexp.MustCompile(`"expires_at":"[^"]*"`).ReplaceAll(b, []byte(past))
	if err := os.WriteFile(audit, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := c.recover(); len(d.Data.Written) != 0 || d.Data.Pending != 1 {
		t.Errorf("while it runs: %+v", d)
	}
	if err := os.WriteFile(filepath.Join(workspace, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !h.wait() {
		t.Fatal("no result")
	}
	h.end()
	done = true
	if d := c.recover(); len(d.Data.Written) != 0 || d.Data.Pending != 0 {
		t.Errorf("when it has ended: %+v", d)
	}
	c.one(1)
	for id, res := range c.seen {
		if res.Status != "allowed" {
			t.Errorf("%s: %s: %s", id, res.Status, res.Error)
		}
	}
}

// A program that was killed with the broker was run, and its receipt does not say that it could not be.
func TestCrashKilledBrokerDoesNotLie(t *testing.T) {
	t.Parallel()
	c := newCrash(t)
	h := c.startChain(0, true)
	if h == nil {
		return
	}
	defer h.end()
	began := filepath.Join(c.home, "clawsh-workspace", "began")
	if err := os.WriteFile(filepath.Join(filepath.Dir(began), "go.sh"), []byte("touch began; sleep 20\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	const call = `{"v":1,"kind":"tool_call","id":"call-%d","conversation_id":"conv-1","turn_id":"turn-1","tool":"shell","args":{"command":"sh go.sh"}}` + "\n"
	fmt.Fprintf(h.in, call, 1)
	for end := time.Now().Add(patient); !there(began); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			said, _ := os.ReadFile(h.said)
			t.Fatalf("the call does not begin: %s", said)
		}
	}
	syscall.Kill(brokerOf(h.stages[1].Process.Pid), syscall.SIGKILL)
	fmt.Fprintf(h.in, call, 2) // and this one was not
	for range 2 {
		if !h.wait() {
			t.Fatal("no result")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, res := range c.seen {
		text := "the outcome of this call is unknown"
		if res.ID == "call-2" {
			text = "the claw-exec broker, which starts programs, has died"
		}
		if res.Status != "failed" || !strings.Contains(res.Error, text) {
			t.Errorf("%s: %s, %q, %q, want %q", res.ID, res.Status, res.Output, res.Error, text)
		}
	}
}

func there(file string) bool { _, err := os.Stat(file); return err == nil }

// claw-receipt recover is killed while it writes, again and again, alone and several at once; in the end each call has
// one receipt.
func TestCrashKilledRecover(t *testing.T) {
	t.Parallel()
	c := newCrash(t)
	kills, rounds := 0, need.Rounds(10, 40)
	r := c.rng(0, 2)
	calls := 0
	for range rounds {
		n := 1 + r.IntN(40)
		c.decisions(calls, n)
		calls += n
		if r.IntN(3) == 0 {
			os.Remove(filepath.Join(c.dir, "tool_receipts.log.d", "recovered"))
		}
		var w sync.WaitGroup
		for range 1 + r.IntN(3) {
			delay := time.Duration(r.Int64N(int64(20 * time.Millisecond)))
			cmd := c.command("claw-receipt", "recover")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Go(func() {
				time.Sleep(delay)
				cmd.Process.Kill()
				cmd.Wait()
			})
			kills++
		}
		w.Wait()
	}
	before := len(readWhole(c))
	d := c.recover()
	t.Logf("%d kills; %d of %d receipts were written by those killed", kills, before, calls)
	if before+len(d.Data.Written) != calls || d.Data.Pending != 0 {
		t.Errorf("%d calls, %d receipts before, %d written, %d pending", calls, before, len(d.Data.Written),
			d.Data.Pending)
	}
	c.one(calls)
	if d := c.recover(); len(d.Data.Written) != 0 {
		t.Errorf("it writes again: %+v", d)
	}
}

// readWhole counts the whole lines of a log whose end may be torn.
func readWhole(c *crash) (ids []string) {
	c.t.Helper()
	c.must("claw-receipt", "verify", "--require", "head") // a torn end is none of tampering
	for _, r := range readReceipts(c.t, c.dir) {
		ids = append(ids, r.ID)
	}
	return ids
}

// Several that recover at once write one receipt a call, whatever else stands in the audit log.
func TestCrashRecoverAtOnce(t *testing.T) {
	t.Parallel()
	c := newCrash(t)
	c.damaged()
	sum, mu := 0, sync.Mutex{}
	var w sync.WaitGroup
	for range 6 {
		w.Go(func() {
			d := c.recover()
			mu.Lock()
			defer mu.Unlock()
			sum += len(d.Data.Written)
		})
	}
	w.Wait()
	if sum != 80 {
		t.Errorf("%d receipts were written", sum)
	}
	c.one(80)
}

// damaged makes an audit log of 80 calls, with lines among them that are none, and an end that is torn.
func (c *crash) damaged() {
	c.t.Helper()
	c.decisions(0, 40)
	f, err := os.OpenFile(filepath.Join(c.dir, "audit.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "\x00garbage\n[1,2]\n{\"kind\":\"audit\",\"decision\":\"allow\"}\n{\"pad\":%q}\n",
		strings.Repeat("x", 200<<10))
	c.decisions(40, 40)
	fmt.Fprint(f, `{"v":1,"kind":"audit","id":"audit-01a1fd37-7cc0-7eb4-8bb9-00000000ffff","decision":"allow"`)
}

// Whatever becomes of the note of how far was looked, and of the audit log, no call gets a second receipt.
func TestCrashRecoverTrustsNoNote(t *testing.T) {
	t.Parallel()
	c := newCrash(t)
	c.damaged()
	if d := c.recover(); len(d.Data.Written) != 80 {
		t.Fatalf("%d receipts were written", len(d.Data.Written))
	}
	note, audit := filepath.Join(c.dir, "tool_receipts.log.d", "recovered"), filepath.Join(c.dir, "audit.jsonl")
	for name, spoil := range map[string][]func() error{
		"gone":     {func() error { return os.Remove(note) }},
		"nonsense": {func() error { return os.WriteFile(note, []byte("\xff{]"), 0o600) }},
		"too far": {func() error {
			return os.WriteFile(note, []byte(`{"audit_bytes":0,"receipts_bytes":99999}`),
				0o600)
		}},
		"audit log away, a shorter one in its place, and back": {func() error {
			return os.Rename(audit,
				audit+".away")
		},
			func() error { c.decisions(3, 2); return nil }, func() error { return os.Rename(audit+".away", audit) }},
	} {
		for i, step := range spoil {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			if d := c.recover(); len(d.Data.Written) != 0 || d.Data.Pending != 0 {
				t.Errorf("%s, step %d: it writes again: %+v", name, i, d)
			}
		}
	}
	c.one(80)
}
