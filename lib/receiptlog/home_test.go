package receiptlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/record"
)

// home is a home with so many receipts.
func home(t *testing.T, receipts int) Log {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default(dir)
	cfg.Receipts.Path = filepath.Join(dir, config.ReceiptsName)
	l := Of(cfg)
	if err := os.MkdirAll(cfg.ReceiptKeysDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.CreateKeys(false); err != nil {
		t.Fatal(err)
	}
	l.append(t, receipts)
	return l
}

// append adds receipts to the log.
func (l Log) append(t *testing.T, n int) {
	t.Helper()
	log, err := l.Writer()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i := range n {
		if _, err := log.Append(result(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func result(i int) record.ToolResult {
	return record.ToolResult{V: record.Version, Kind: record.KindToolResult, ID: fmt.Sprint("call-", i),
		ConversationID: "conv-1", Tool: "time", Args: record.Raw(`{"n":1}`), Status: record.StatusAllowed,
		Success: true, Output: fmt.Sprint(i), Verdict: &record.Verdict{Risk: record.RiskLow}}
}

// change replaces text in a file of the home.
func change(t *testing.T, path, from, to string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), from) {
		t.Fatalf("%s: %v, or not in it: %s", path, err, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

// spoil changes the receipt of that number.
func (l Log) spoil(t *testing.T, number int) {
	t.Helper()
	line := lines(t, l.path())[number-1]
	change(t, l.path(), line, strings.Replace(line, `"tool":"time"`, `"tool":"tame"`, 1))
}

// shorten takes the last receipt away.
func (l Log) shorten(t *testing.T) {
	t.Helper()
	all := lines(t, l.path())
	if err := os.WriteFile(l.path(), []byte(strings.Join(all[:len(all)-1], "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
}

// fails checks the code of an error, "" for none, and a part of its message or hint.
func fails(t *testing.T, what string, err error, code, says string) {
	t.Helper()
	if err == nil && code == "" {
		return
	}
	var e *envelope.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message+"\n"+e.Hint, says) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, says)
		if e != nil {
			t.Logf("code %s, hint %s", e.Code, e.Hint)
		}
	}
}

func (l Log) ask() Question {
	return Question{Config: func() (*config.Config, error) { return l.cfg, nil }}
}

func (l Log) head() string { return filepath.Join(l.cfg.ReceiptsDir(), "head") }

// TestWriter: nothing is begun in a home that lacks its keys, or whose receipts lie where they were before.
func TestWriter(t *testing.T) {
	for what, c := range map[string]struct {
		with       func(l Log)
		code, says string
	}{
		"all there":    {func(Log) {}, "", ""},
		"without keys": {func(l Log) { remove(t, l.cfg.ReceiptKeysDir()) }, "key.unavailable", "clawsh init"},
		"a directory in its place": {func(l Log) {
			remove(t, l.path())
			if err := os.Mkdir(l.path(), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "receipts.unavailable", "open the receipt log"},
		"moved": {func(l Log) { l.cfg.Receipts.Path = filepath.Join(l.cfg.Home, "new", "log") }, "receipts.moved",
			"mkdir -p"},
		"moved, with an empty directory": {func(l Log) {
			l.cfg.Receipts.Path = filepath.Join(l.cfg.Home, "log")
			if err := os.Mkdir(l.cfg.ReceiptsDir(), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "receipts.moved", "rmdir"},
	} {
		l := home(t, 1)
		c.with(l)
		log, err := l.Writer()
		if log != nil {
			log.Close()
		}
		fails(t, what, err, c.code, c.says)
	}
}

// TestMissing: a log that is gone is not called intact, and what is said depends on what should be there.
func TestMissing(t *testing.T) {
	for what, c := range map[string]struct {
		with       func(l Log)
		code, says string
	}{
		"there":          {func(Log) {}, "", ""},
		"gone":           {func(l Log) { remove(t, l.path()) }, "receipts.missing", "there is no receipt log"},
		"without clawsh": {func(l Log) { remove(t, l.path(), l.cfg.KeysDir()) }, "not_initialised", "clawsh init"},
		"calls were decided": {func(l Log) {
			remove(t, l.path())
			if err := os.WriteFile(l.cfg.AuditPath(), []byte("{}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "receipts.missing", "the gate has decided calls"},
	} {
		l := home(t, 1)
		c.with(l)
		_, err := l.ask().Verify()
		fails(t, what, err, c.code, c.says)
	}
}

// TestParts: what was split off the log is read with it.
func TestParts(t *testing.T) {
	l := home(t, 0)
	l.cfg.Receipts.RotateBytes = 1024
	l.append(t, 9)
	parts, _ := filepath.Glob(filepath.Join(l.cfg.ReceiptsDir(), "*"))
	if len(lines(t, l.path())) == 9 || len(parts) < 2 {
		t.Fatal("the log has no parts")
	}
	v, err := l.ask().Verify()
	if err != nil || v.Count != 9 || v.Level != receipt.LevelHead {
		t.Errorf("%+v, %v", v, err)
	}
	last, err := l.Last(context.Background(), receipt.Filter{}, 8)
	if err != nil || len(last.Receipts) != 8 {
		t.Errorf("%d receipts, %v", len(last.Receipts), err)
	}
	all, err := l.Last(context.Background(), receipt.Filter{}, 0)
	if n, eachErr := l.Each(receipt.Filter{}, func(receipt.Receipt) error { return nil }); err != nil || n != 0 ||
		eachErr != nil || len(all.Receipts) != 9 {
		t.Errorf("%d receipts, %v, %d unreadable, %v", len(all.Receipts), err, n, eachErr)
	}
}
