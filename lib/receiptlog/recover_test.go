package receiptlog

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// allow writes a line of the gate's log: a call was allowed, by a permit that expires then.
func (l Log) allow(t *testing.T, i int, expires time.Time) {
	t.Helper()
	f, err := os.OpenFile(l.cfg.AuditPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hash := record.HashBytes([]byte("{}"))
	fmt.Fprintf(f, `{"v":1,"kind":"audit","id":"audit-01a1fd37-7cc0-7eb4-8bb9-%012x","call_id":"call-%d","conversation_id":"conv-1","tool":"time","args_sha256":%q,"args_hash":%q,"decision":"allow","risk":"low","expires_at":%q}`+"\n",
		i, i, hash, hash, expires.UTC().Format(record.TimeFormat))
}

// TestRecover: a call is over once its permit has expired and nobody runs calls, or after the longest time limit.
func TestRecover(t *testing.T) {
	now := time.Now()
	for what, c := range map[string]struct {
		expired         time.Duration
		running, dry    bool
		written, listed int
		pending         int
		says            string
	}{
		"over":                     {time.Hour * 48, false, false, 1, 0, 0, "interrupted, outcome unknown"},
		"over, only listed":        {time.Hour * 48, false, true, 0, 1, 0, "no receipt yet, call call-1"},
		"over, and stages run":     {time.Hour * 48, true, false, 1, 0, 0, ""},
		"just expired":             {time.Second, false, false, 1, 0, 0, ""},
		"just expired, stages run": {time.Second, true, false, 0, 0, 1, "may still be running: 1, until "},
		"not yet":                  {-time.Hour, false, false, 0, 0, 1, "may still be running: 1"},
	} {
		l := home(t, 0)
		l.allow(t, 1, now.Add(-c.expired))
		if c.running {
			lock, err := durable.Share(l.cfg.UnderWayPath())
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
		}
		r, err := l.Recover(c.dry)
		var b strings.Builder
		if err != nil || r.WriteText(&b) != nil || len(r.Written) != c.written || len(r.Interrupted) != c.listed ||
			r.Pending != c.pending || !strings.Contains(b.String(), c.says) {
			t.Errorf("%s: %+v, %v\n%s", what, r.Recovery, err, b.String())
		}
		if n := len(l.ids(t)); n != c.written {
			t.Errorf("%s: %d receipts in the log", what, n)
		}
	}
}

// TestRecoverNothing: a home without open calls says so, and a damaged log is not added to.
func TestRecoverNothing(t *testing.T) {
	l := home(t, 2)
	r, err := l.Recover(false)
	var b strings.Builder
	if err != nil || r.WriteText(&b) != nil || b.String() != "every allowed call has its receipt\n" {
		t.Errorf("%s, %v", b.String(), err)
	}
	l.allow(t, 1, time.Now().Add(-48*time.Hour))
	l.shorten(t)
	_, err = l.Recover(false)
	fails(t, "shortened", err, "receipts.broken", "claw-receipt verify")
}
