package test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/receipt"
	"clawsh/lib/record"
)

// auditEntry is what is read of a line of audit.jsonl.
type auditEntry struct {
	ID       string `json:"id"`
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	ArgsHash string `json:"args_hash"`
	Decision string `json:"decision"`
}

// receiptID is the id that the receipt of an allowed call must have.
func (a auditEntry) receiptID() string { return "receipt-" + strings.TrimPrefix(a.ID, "audit-") }

// readAudit reads what the gate decided; a line that a gate left torn is nobody's.
func readAudit(t *testing.T, dir string) (all []auditEntry) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var a auditEntry
		if record.DecodeOpen(line, &a) == nil && a.ID != "" {
			all = append(all, a)
		}
	}
	return all
}

// readReceipts reads the log with its older parts, as they lie there.
func readReceipts(t *testing.T, dir string) (all []receipt.Receipt) {
	t.Helper()
	parts, _ := filepath.Glob(filepath.Join(dir, "tool_receipts.log.d", "0*.log"))
	slices.Sort(parts)
	var last []byte
	for _, file := range append(parts, filepath.Join(dir, "tool_receipts.log")) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 && bytes.Equal(b, last) {
			continue // a process died between the copy and the cut of a rotation
		}
		last = b
		for line := range bytes.Lines(b) {
			r, err := receipt.Parse(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil && !bytes.HasSuffix(line, []byte("\n")) {
				break // torn
			}
			if err != nil {
				t.Fatalf("%s: %v: %s", file, err, line)
			}
			all = append(all, r)
		}
	}
	return all
}

// outcomeHash is the hash of what became of a call, as docs/SCHEMAS.md has it.
func outcomeHash(t *testing.T, success bool, output, failure string) string {
	t.Helper()
	raw, err := record.Encode(map[string]any{"error": failure, "output": output, "success": success})
	if err != nil {
		t.Fatal(err)
	}
	h, err := record.Hash(raw)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

type recoverData struct {
	Data struct {
		Written []struct {
			ID string `json:"id"`
		} `json:"written"`
		Pending int `json:"pending"`
	} `json:"data"`
}

func (c *crash) recover() (d recoverData) {
	c.t.Helper()
	out := c.must("claw-receipt", "recover", "--output-format", "json")
	if err := record.DecodeOpen([]byte(out), &d); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return d
}

// alone waits until no stage runs that could still write: what was killed may leave others that are still ending.
func (c *crash) alone() {
	c.t.Helper()
	f, err := os.Open(filepath.Join(c.dir, "under-way.lock"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	for end := time.Now().Add(patient); syscall.Flock(int(f.Fd()), syscall.LOCK_EX|
		syscall.LOCK_NB) != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("after %v a stage still runs", patient)
		}
	}
}

// recovered recovers until nothing is pending: a permit expires a minute after the decision.
func (c *crash) recovered() {
	c.alone()
	written, start := 0, time.Now()
	for {
		d := c.recover()
		if written += len(d.Data.Written); d.Data.Pending == 0 {
			break
		}
		if time.Since(start) > 90*time.Second {
			c.t.Fatalf("%d calls are pending still", d.Data.Pending)
		}
		time.Sleep(250 * time.Millisecond)
	}
	c.t.Logf("recovered after %v; claw-receipt recover wrote %d receipts", time.Since(start).Round(time.Millisecond),
		written)
	before := readReceipts(c.t, c.dir)
	if d := c.recover(); len(d.Data.Written) != 0 || d.Data.Pending != 0 {
		c.t.Errorf("a second recover writes: %+v", d)
	}
	if after := readReceipts(c.t, c.dir); len(after) != len(before) {
		c.t.Errorf("a second recover has changed the log: %d receipts, then %d", len(before), len(after))
	}
}

// check holds everything that is known about the calls against their receipts.
func (c *crash) check() {
	t := c.t
	c.must("claw-receipt", "verify", "--require", "head")
	audit, receipts := readAudit(t, c.dir), readReceipts(t, c.dir)
	interrupted := outcomeHash(t, false, "", "interrupted, outcome unknown")
	byID := map[string]receipt.Receipt{}
	for _, r := range receipts {
		if _, twice := byID[r.ID]; twice {
			t.Errorf("two receipts have the id %s", r.ID)
		}
		byID[r.ID] = r
	}
	counts := map[string]int{}
	released := c.checkReleased(audit, receipts, byID, interrupted, counts)
	why := map[string]int{}
	for id, res := range c.seen {
		if res.Status == "failed" {
			why[res.Tool+": "+res.Error]++
		}
		checkSeen(t, "came out", byID[id], res, interrupted)
	}
	remembered := c.checkMemory(byID, interrupted)
	for id := range released {
		if r := byID[id]; c.seen[id].ReceiptID == "" && !remembered[id] && r.ResultHash != interrupted {
			counts["receipt written, result lost"]++
		}
	}
	c.checkFiles(released, byID, interrupted)
	t.Logf("failed calls that came out: %v", why)
	t.Logf("%d calls released: %v; %d results came out, %d are remembered; %d receipts", len(released), counts,
		len(c.seen), len(remembered), len(receipts))
	if counts["interrupted"] == 0 || counts["allowed"] == 0 {
		t.Error("the kills have hit no call, or let none through: nothing was proven")
	}
}

// checkReleased holds what the gate has decided against the receipts, and returns the released calls by the id of their
// receipt.
func (c *crash) checkReleased(audit []auditEntry, receipts []receipt.Receipt, byID map[string]receipt.Receipt,
	interrupted string, counts map[string]int) map[string]auditEntry {
	released, decided, denied := map[string]auditEntry{}, map[string]bool{}, map[string]int{}
	for _, a := range audit {
		decided[a.CallID] = true
		if a.Decision != "allow" {
			denied[a.Tool+a.ArgsHash]++
			continue
		}
		released[a.receiptID()] = a
		r, ok := byID[a.receiptID()]
		if !ok {
			c.t.Errorf("call %s was released and has no receipt %s", a.CallID, a.receiptID())
			continue
		}
		how := r.Status
		if r.ResultHash == interrupted {
			how = "interrupted"
			if r.Status != "failed" {
				c.t.Errorf("%s: interrupted, and %s", r.ID, r.Status)
			}
		}
		counts[how]++
		if r.Tool != a.Tool || r.ArgsHash != a.ArgsHash {
			c.t.Errorf("%s is not about its call: %+v, %+v", r.ID, r, a)
		}
		c.checkFed(a, r)
	}
	for _, r := range receipts {
		if _, ok := released[r.ID]; ok {
			continue
		}
		if counts["denied by the gate"]++; r.Status != "denied" || denied[r.Tool+r.ArgsHash] == 0 {
			c.t.Errorf("%s: the gate has decided about no such call: %+v", r.ID, r)
		}
		denied[r.Tool+r.ArgsHash]--
	}
	for id := range c.fed {
		if !decided[id] {
			counts["never decided"]++
		}
	}
	return released
}

// checkFed holds a receipt against the call that the test sent.
func (c *crash) checkFed(a auditEntry, r receipt.Receipt) {
	f, ok := c.fed[a.CallID]
	if !ok {
		return // a model's
	}
	if want, err := record.Hash([]byte(f.args)); err != nil || r.ArgsHash != want || r.Tool != f.tool {
		c.t.Errorf("%s: the receipt is not about what was sent: %v: %+v, %+v", a.CallID, err, f, r)
	}
}

// checkSeen holds a receipt against a result that somebody has seen.
func checkSeen(t *testing.T, where string, r receipt.Receipt, res record.ToolResult, interrupted string) {
	t.Helper()
	if r.ID == "" {
		t.Errorf("a result %s with %s, and there is no such receipt", where, res.ReceiptID)
		return
	}
	if r.ResultHash == interrupted {
		t.Errorf("%s: interrupted, and its result %s: %+v", r.ID, where, res)
		return
	}
	args, err := record.Hash(res.Args)
	if err != nil || args != r.ArgsHash || outcomeHash(t, res.Success, res.Output, res.Error) != r.ResultHash ||
		r.Status != res.Status ||
		r.Tool != res.Tool || r.ConversationID != res.ConversationID {
		t.Errorf("%s is not about the result that %s: %v: %+v, %+v", r.ID, where, err, r, res)
	}
}

// checkMemory holds what the memory has of results against the receipts.
func (c *crash) checkMemory(byID map[string]receipt.Receipt, interrupted string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(c.must("claw-mem", "export")) {
		var res record.ToolResult
		if err := record.DecodeOpen([]byte(line), &res); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		if res.Kind == record.KindToolResult {
			checkSeen(c.t, "is remembered", byID[res.ReceiptID], res, interrupted)
			all[res.ReceiptID] = true
		}
	}
	return all
}

// checkFiles holds what the calls have done against what the receipts say.
func (c *crash) checkFiles(released map[string]auditEntry, byID map[string]receipt.Receipt, interrupted string) {
	byArgs := map[string]receipt.Receipt{}
	for id, a := range released {
		if a.Tool == "file_write" {
			byArgs[a.ArgsHash] = byID[id]
		}
	}
	written := 0
	for name, content := range c.files {
		args, err := record.Hash([]byte(`{"content":` + quoteJSON(content) + `,"path":` + quoteJSON(name) + `}`))
		if err != nil {
			c.t.Fatal(err)
		}
		r, ok := byArgs[args]
		b, err := os.ReadFile(filepath.Join(c.home, "clawsh-workspace", name))
		if err == nil {
			written++
		}
		switch {
		case err == nil && !ok:
			c.t.Errorf("%s was written, and no receipt says so", name)
		case err == nil && r.Status != "allowed" && r.ResultHash != interrupted:
			c.t.Errorf("%s was written, and the receipt says %s", name, r.Status)
		case ok && r.Status == "allowed" && string(b) != content:
			c.t.Errorf("the receipt says that %s was written, and it holds %q (%v)", name, b, err)
		}
	}
	c.t.Logf("%d files were written of %d that were wanted", written, len(c.files))
}
