package test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/lib/receipt"
	"clawsh/lib/record"
	"clawsh/test/need"
)

// claw-receipt set-aside is killed at random moments: the log that is verified then is the old one, as it was, or the
// new one, and once set-aside has run again it is the new one, and the old one is whole, whichever file of it was
// damaged.
func TestCrashKilledSetAside(t *testing.T) {
	t.Parallel()
	c := newCrash(t)
	c.decisions(0, 300) // two parts and a log
	c.recover()
	rounds := need.Rounds(8, 60)
	template, left, span := filepath.Join(c.home, "template"), map[string]int{}, time.Duration(0)
	c.copyAll(c.dir, template)
	for round := range rounds {
		r := c.rng(round, 3)
		c.restore(template)
		old := c.spoil(r)
		before := c.verified()
		if before.Valid || before.Chain != receipt.Broken {
			t.Fatalf("the log is not damaged: %+v", before)
		}
		cmd := c.command("claw-receipt", "set-aside", "--reason", "r", "--yes")
		start, moment := time.Now(), patient
		if round > 0 { // nobody kills the first one: that is how long it takes
			moment = time.Duration(r.Int64N(int64(span)))
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(moment, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if round == 0 {
			span = time.Since(start) + 1
		}
		now := c.verified()
		switch {
		case now == before:
			left["the old one"]++
		case now.Valid && now.After && now.Count == 1:
			left["the new one"]++
		default:
			t.Errorf("round %d: it is neither the old log nor the new one: %+v", round, now)
		}
		if !c.has(old) {
			t.Errorf("round %d: the old log is not whole", round)
		}
		if err != nil {
			c.again(round, now.Valid)
		}
		if now := c.verified(); !now.Valid || !now.After || now.Count != 1 || !c.has(old) {
			t.Fatalf("round %d: in the end: the old one is there: %v; %+v", round, c.has(old), now)
		}
		c.must("clawsh", "tool", "run", "time")
	}
	t.Logf("%d kills left %v", rounds, left)
}

// again runs set-aside once more. Where nothing is left to do, it says so.
func (c *crash) again(round int, done bool) {
	c.t.Helper()
	out, err := c.command("claw-receipt", "set-aside", "--reason", "r", "--yes").CombinedOutput()
	var exit *exec.ExitError
	if err == nil || done && errors.As(err, &exit) && exit.ExitCode() == 64 &&
		strings.Contains(string(out), "nothing is wrong with it") {
		return
	}
	c.t.Errorf("round %d: again: %v: %s", round, err, out)
}

func (c *crash) restore(template string) {
	c.t.Helper()
	if err := os.RemoveAll(c.dir); err != nil {
		c.t.Fatal(err)
	}
	c.copyAll(template, c.dir)
}

func (c *crash) copyAll(from, to string) {
	c.t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

// logFiles are the parts of the log in a directory, and the log.
func logFiles(dir string) []string {
	parts, _ := filepath.Glob(filepath.Join(dir, "tool_receipts.log.d", "0*.log"))
	slices.Sort(parts)
	return append(parts, filepath.Join(dir, "tool_receipts.log"))
}

// spoil changes a byte in one of the files, and returns what they hold, all in a row. At times the log is empty, as
// after a rotation.
func (c *crash) spoil(r *rand.Rand) []byte {
	c.t.Helper()
	files := logFiles(c.dir)
	n := r.IntN(len(files))
	if n < len(files)-1 && r.IntN(3) == 0 {
		if err := os.Truncate(files[len(files)-1], 0); err != nil {
			c.t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(files[n])
	if err != nil {
		c.t.Fatal(err)
	}
	from := r.IntN(len(raw) / 2)
	at := from + bytes.Index(raw[from:], []byte(`"status":"failed"`)) + len(`"status":"`)
	raw[at] ^= 1
	if err := errors.Join(os.Chmod(files[n], 0o600), os.WriteFile(files[n], raw, 0o600)); err != nil {
		c.t.Fatal(err)
	}
	return joined(c.t, files)
}

func joined(t *testing.T, files []string) (all []byte) {
	t.Helper()
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
	}
	return all
}

// has tells whether a log is there still, where it was or set aside.
func (c *crash) has(old []byte) bool {
	c.t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(c.dir, "tool_receipts.log.d", "aside-*"))
	for _, dir := range append(dirs, c.dir) {
		if bytes.Equal(joined(c.t, logFiles(dir)), old) {
			return true
		}
	}
	return false
}

// verified is what verify says.
func (c *crash) verified() receipt.Report {
	c.t.Helper()
	cmd := c.command("claw-receipt", "verify", "--output-format", "json")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, _ := cmd.Output()
	var e struct {
		Data  receipt.Report `json:"data"`
		Error struct {
			Details receipt.Report `json:"details"`
		} `json:"error"`
	}
	if err := record.DecodeOpen(out, &e); err != nil {
		c.t.Fatalf("verify: %v: %s%s", err, out, errs.String())
	}
	if e.Error.Details.Chain != "" {
		return e.Error.Details
	}
	return e.Data
}
