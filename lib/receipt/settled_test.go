package receipt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// settledHome is a home of three calls that have their receipts, and a note that says so.
func settledHome(t *testing.T) *crashed {
	c := newCrashed(t, allowLine(1)+allowLine(2)+allowLine(3))
	c.settle(1, 2, 3)
	if !c.settled() {
		t.Fatal("nothing is left to do, and it is not seen")
	}
	return c
}

// settle appends receipts and then does what claw-receipt does when its input ends.
func (c *crashed) settle(calls ...int) {
	c.t.Helper()
	l := openLog(c.t, c.path, c.o)
	defer l.Close()
	for _, i := range calls {
		if _, err := l.AppendSealed(allowed(i), sealed(allowed(i))); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := l.Settle(c.audit); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crashed) settled() bool { return Settled(c.path, c.o.Keys, c.audit) }

// What changes after all was settled is looked at.
func TestSettledNoMore(t *testing.T) {
	edit := func(path string, change func([]byte) []byte) {
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(len(b)+at)%len(b)] ^= 1; return b }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:max(0, len(b)-n)] } }
	note := func(c *crashed) string { return (&Log{path: c.path}).settledPath() }
	for what, change := range map[string]func(c *crashed){
		"a call was allowed": func(c *crashed) { c.put(allowLine(1) + allowLine(2) + allowLine(3) + allowLine(4)) },
		"a line is being written": func(c *crashed) {
			c.put(allowLine(1) + allowLine(2) + allowLine(3) +
				`{"v":1`)
		},
		"the audit log is shorter":     func(c *crashed) { c.put(allowLine(1) + allowLine(2)) },
		"the audit log is another":     func(c *crashed) { c.put(allowLine(1) + allowLine(2) + allowLine(4)) },
		"there is no audit log":        func(c *crashed) { os.Remove(c.audit) },
		"the last receipt was changed": func(c *crashed) { edit(c.path, flip(-400)) },
		"receipts were cut off":        func(c *crashed) { edit(c.path, cut(100)) },
		"the last newline was cut off": func(c *crashed) { edit(c.path, cut(1)) },
		"all receipts were removed":    func(c *crashed) { edit(c.path, cut(1<<20)) },
		"the receipts are gone":        func(c *crashed) { os.Remove(c.path) },
		"the receipts are not a file":  func(c *crashed) { os.Remove(c.path); os.Mkdir(c.path, 0o700) },
		"something stands behind the last": func(c *crashed) {
			edit(c.path,
				func(b []byte) []byte { return append(b, "x\n"...) })
		},
		"the head was changed": func(c *crashed) { edit(headPath(c.path), flip(20)) },
		"the head is gone":     func(c *crashed) { os.Remove(headPath(c.path)) },
		"the note was changed": func(c *crashed) { edit(note(c), flip(60)) },
		"the note is not signed": func(c *crashed) {
			edit(note(c),
				func(b []byte) []byte { return b[:bytes.Index(b, []byte("\n\n"))] })
		},
		"the note is gone":                    func(c *crashed) { os.Remove(note(c)) },
		"the note is empty, as after a crash": func(c *crashed) { edit(note(c), cut(1<<20)) },
		"the public keys are gone":            func(c *crashed) { os.Remove(filepath.Join(c.o.Keys, "receipt.pub")) },
		"other keys":                          func(c *crashed) { _, o := home(c.t); c.o.Keys = o.Keys },
	} {
		t.Run(what, func(t *testing.T) {
			c := settledHome(t)
			if change(c); c.settled() {
				t.Error("it counts as settled still")
			}
		})
	}
}

// A call without a receipt is never noted as settled, whatever came after it; its receipt settles it.
func TestSettleLeavesWhatHasNoReceipt(t *testing.T) {
	c := newCrashed(t, allowLine(1)+allowLine(2)+allowLine(3))
	c.settle(1, 3)
	if c.settled() {
		t.Error("a call without a receipt counts as settled")
	}
	c.expect("recover finds it", 2)
	if !c.settled() {
		t.Error("after recover, something is left")
	}
	c.put(allowLine(1) + allowLine(2) + allowLine(3) + allowLine(4) + allowLine(5))
	c.settle(4)
	if c.settled() {
		t.Error("the newest call has no receipt, and counts as settled")
	}
	c.settle(5)
	if !c.settled() {
		t.Error("all calls have their receipts, and it is not seen")
	}
}
