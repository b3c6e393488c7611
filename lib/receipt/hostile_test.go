package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/record"
)

// within fails a test whose call hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

// TestFilesThatHang: a FIFO in the place of a file beside the log hangs nobody, whether or not somebody holds it open.
// In the place of the head it is tampering; the other files hold nothing that is needed.
func TestFilesThatHang(t *testing.T) {
	for _, name := range []string{"head", "head.tmp", "recovered"} {
		for _, held := range []bool{false, true} {
			path, o, _ := chain(t, 2)
			fifo := filepath.Join(sideDir(path), name)
			os.Remove(fifo)
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			if held {
				f, err := os.OpenFile(fifo, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			within(t, name, func() { pass(t, path, o, name != "head") })
		}
	}
}

// pass appends, recovers, closes and opens a log, all of which must work or fail.
func pass(t *testing.T, path string, o Options, works bool) {
	l, err := OpenLog(path, o)
	if err != nil {
		t.Error(err)
		return
	}
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	os.WriteFile(audit, []byte(allowedLine(record.NewID(auditPrefix))), 0o600)
	_, appendErr := l.Append(result(3))
	_, recoverErr := l.Recover(RecoverOptions{Audit: audit, Quiet: true, Now: time.Now()})
	l.Close()
	src, openErr := Open(path)
	if openErr == nil {
		src.Close()
	}
	for what, err := range map[string]error{"append": appendErr, "recover": recoverErr, "open": openErr} {
		if (err == nil) != works {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// allowedLine is a line of the audit log about a call whose permit has expired.
func allowedLine(id string) string {
	return fmt.Sprintf(`{"v":1,"kind":"audit","id":"%s","conversation_id":"c","tool":"time","args_sha256":"%s","decision":"allow","risk":"low","expires_at":"2020-01-01T00:00:00.000Z"}`+"\n", id, Genesis)
}

// TestForgedRecovered: whoever can write the file that saves time, and has no key, can have no receipt left out.
func TestForgedRecovered(t *testing.T) {
	path, o := home(t)
	l := openLog(t, path, o)
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	line := allowedLine(record.NewID(auditPrefix))
	os.WriteFile(audit, []byte(line), 0o600)
	f, _ := os.Open(audit)
	defer f.Close()
	mark, err := markOf(f, int64(len(line)))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := record.Encode(settled{Audit: int64(len(line)), Mark: mark})
	for _, forged := range []string{string(raw), l.keys.Origin + settledLabel + string(raw) + "\n\n— " + l.keys.Origin +
		" AAAAAAAA\n"} {
		if err := os.WriteFile(l.settledPath(), []byte(forged), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := l.settled(); s != (settled{}) {
			t.Errorf("believed: %s", forged)
		}
	}
	rec, err := l.Recover(RecoverOptions{Audit: audit, Quiet: true, Now: time.Now()})
	if err != nil || len(rec.Written) != 1 {
		t.Fatalf("recovered %+v, %v", rec, err)
	}
	if s := l.settled(); s.Audit != int64(len(line)) {
		t.Errorf("its own file is not believed: %+v", s)
	}
	head, _ := os.ReadFile(l.settledPath())
	if err := os.WriteFile(headPath(path), head, 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); rep.Valid || !strings.Contains(rep.Reason, "head") {
		t.Errorf("it is taken for a head: %+v", rep)
	}
}

// TestRotationCutShort: a process that dies between the copy to a part and the cut leaves both, which count once, with
// or without a newline at the end. What only begins like the part is tampering: it is neither passed over nor cut away.
func TestRotationCutShort(t *testing.T) {
	for _, c := range []struct {
		name   string
		active func(part []byte) []byte
		valid  bool
	}{
		{"the same", func(part []byte) []byte { return part }, true},
		{"without the last newline", func(part []byte) []byte { return part[:len(part)-1] }, true},
		{"empty", func([]byte) []byte { return nil }, true},
		{"as long, and the same at first", func(part []byte) []byte {
			return bytes.Replace(part, []byte(`"status":"allowed"`), []byte(`"status":"altered"`), -1)
		}, false},
		{"without its last line",
			func(part []byte) []byte { return part[:bytes.LastIndexByte(part[:len(part)-1], '\n')+1] }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, o, _ := chain(t, 3)
			part := read(t, path)
			active := c.active(bytes.Clone(part))
			if err := errors.Join(os.WriteFile(partPath(path, 0), part, 0o400),
				os.WriteFile(path, active, 0o600)); err != nil {
				t.Fatal(err)
			}
			if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); rep.Valid != c.valid || c.valid &&
				rep.Count != 3 {
				t.Errorf("%+v", rep)
			}
			_, err := openLog(t, path, o).Append(result(4))
			if (err == nil) != c.valid || err != nil && !errors.Is(err, ErrTampered) {
				t.Errorf("append: %v", err)
			}
			if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); rep.Valid != c.valid || c.valid &&
				rep.Count != 4 {
				t.Errorf("afterwards: %+v", rep)
			}
			if !c.valid && !bytes.Equal(read(t, path), active) {
				t.Error("what was put there is gone")
			}
		})
	}
}

// TestOneReceiptForOneDecision: a result that comes twice, and one whose verdict is made up with the id of another
// call's decision and a permit that is good for ever, do not get a receipt with an id that there is.
func TestOneReceiptForOneDecision(t *testing.T) {
	for _, between := range []int{0, 1, 200} {
		path, o := home(t)
		o.RotateBytes = 20_000
		l, other := openLog(t, path, o), openLog(t, path, o)
		first := allowedNow(1, record.NewID(auditPrefix))
		seal := sealed(first)
		r, err := l.AppendSealed(first, seal)
		if err != nil {
			t.Fatal(err)
		}
		for i := range between {
			res := allowedNow(i, record.NewID(auditPrefix))
			if _, err := other.AppendSealed(res, sealed(res)); err != nil {
				t.Fatal(err)
			}
		}
		forged := allowedNow(2, first.Verdict.AuditID)
		forged.Verdict.ExpiresAt = "2999-01-01T00:00:00.000Z"
		for _, log := range []*Log{l, other} {
			for _, a := range []Attestation{seal, sealed(first)} {
				if _, err := log.AppendSealed(first, a); !errors.Is(err, ErrExists) {
					t.Errorf("behind %d others: %v", between, err)
				}
			}
			if x, err := log.Append(forged); err != nil || x.ID == r.ID || x.Attestation != Unattested {
				t.Errorf("a forged one behind %d others: %+v, %v", between, x, err)
			}
		}
		used := first
		used.Metadata.Permit = record.PermitUsed
		of := Attestation{By: seal.By, Seal: record.NewID(sealPrefix)}
		if x, err := l.AppendSealed(used, of); err != nil || x.ID == r.ID {
			t.Errorf("an attempt with a permit that was used: %s, %v", x.ID, err)
		}
		if _, err := other.AppendSealed(used, of); !errors.Is(err, ErrExists) {
			t.Errorf("the same attempt again: %v", err)
		}
		if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || rep.Count != between+4 ||
			rep.Unattested != 2 {
			t.Errorf("%+v", rep)
		}
	}
}

// TestNothingKeepsTheRealOneOut: results that nobody vouches for, and attempts with a permit that had expired, before
// and behind the result of the call itself, in every order: that one gets its receipt, once.
func TestNothingKeepsTheRealOneOut(t *testing.T) {
	path, o := home(t)
	l := openLog(t, path, o)
	for order := range 16 {
		real := allowedNow(order, record.NewID(auditPrefix))
		forged, late := real, real
		forged.Output, late.Output, late.Error = "forged", "", "denied: permit: the permit has expired"
		late.Status, late.Success, late.Metadata.Permit = record.StatusDenied, false, record.PermitExpired
		seal, written := sealed(real), false
		for step := range 4 {
			switch {
			case order>>step&1 == 1 && !written:
				written = true
				if r, err := l.AppendSealed(real, seal); err != nil || r.Attestation == Unattested {
					t.Errorf("order %04b: %+v, %v", order, r, err)
				}
			case step%2 == 0:
				if _, err := l.Append(forged); err != nil {
					t.Error(err)
				}
			default:
				l.AppendSealed(late, sealed(late)) // the same attempt twice is one
			}
		}
		if _, err := l.AppendSealed(real, seal); written && !errors.Is(err, ErrExists) {
			t.Errorf("order %04b, again: %v", order, err)
		}
	}
}

// TestOldDecisionTakesNoID: a made up verdict about an old decision is looked for in the whole log, its older parts as
// well.
func TestOldDecisionTakesNoID(t *testing.T) {
	path, o := home(t)
	o.RotateBytes = 20_000
	l := openLog(t, path, o)
	for _, id := range []string{"01900000-0000-7000-8000-000000000000", "ffffffff-ffff-7fff-8fff-ffffffffffff",
		"------------------------------------"} {
		res := allowedNow(1, auditPrefix+id)
		if _, err := l.AppendSealed(res, sealed(res)); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		mustAppend(t, l, 100)
		if _, err := l.AppendSealed(res, sealed(res)); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// allowedNow is the result of a call that the gate allowed just now.
func allowedNow(i int, audit string) record.ToolResult {
	r := result(i)
	r.Verdict = &record.Verdict{Decision: record.Allow, Risk: record.RiskLow, AuditID: audit, ExpiresAt: time.Now().
		Add(time.Minute).UTC().Format(record.TimeFormat)}
	return r
}
