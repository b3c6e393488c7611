package receiptlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/receipt"
)

func (l Log) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(l.cfg.Home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// public writes the public keys to a file.
func (l Log) public(t *testing.T) string {
	t.Helper()
	k, err := l.Keys(false)
	var b strings.Builder
	if err != nil || k.WriteText(&b) != nil {
		t.Fatal(err)
	}
	return l.file(t, "public", b.String())
}

func (l Log) checkpoint(t *testing.T, name string) string {
	t.Helper()
	c, err := l.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return l.file(t, name, c.Checkpoint)
}

// TestLevels: without a wish, the level is the strongest that what is known can establish; more than that fails.
func TestLevels(t *testing.T) {
	l := home(t, 3)
	kept, public := l.checkpoint(t, "kept"), l.public(t)
	other := home(t, 3)
	for what, c := range map[string]struct {
		q           Question
		level, code string
	}{
		"keys":                {Question{}, receipt.LevelHead, ""},
		"keys and checkpoint": {Question{Against: kept}, receipt.LevelCheckpoint, ""},
		"less than known":     {Question{Require: receipt.LevelChain}, receipt.LevelChain, ""},
		"more than known": {
			Question{Require: receipt.LevelCheckpoint}, receipt.LevelCheckpoint, "receipts.unproven"},
		"a public key":               {Question{Key: public}, receipt.LevelHead, ""},
		"another's public key":       {Question{Key: other.public(t)}, receipt.LevelHead, "receipts.unproven"},
		"no key":                     {Question{Key: kept + ".none"}, "", "usage"},
		"a file that is not keys":    {Question{Key: kept}, "", "usage"},
		"no checkpoint":              {Question{Against: kept + ".none"}, "", "usage"},
		"a file without checkpoints": {Question{Against: public}, "", "checkpoint.wrong"},
		"another's checkpoint":       {Question{Against: other.checkpoint(t, "kept")}, "", "checkpoint.wrong"},
		"a log of another home":      {Question{Log: other.path()}, receipt.LevelHead, "receipts.broken"},
		"a log that is not there":    {Question{Log: kept + ".none"}, "", "receipts.missing"},
		"unattested":                 {Question{Attested: true}, receipt.LevelHead, "receipts.unattested"},
	} {
		c.q.Config = l.ask().Config
		v, err := c.q.Verify()
		fails(t, what, err, c.code, "")
		if (v != nil) != (c.level != "") || v != nil && v.Require != c.level {
			t.Errorf("%s: %+v, want level %q", what, v, c.level)
		}
	}
}

// TestLevelWithoutKeys: a home that has lost its keys does not pass for one that never had any, unless that is asked.
func TestLevelWithoutKeys(t *testing.T) {
	l := home(t, 2)
	public := l.public(t)
	remove(t, l.cfg.ReceiptKeysDir())
	_, err := l.ask().Verify()
	fails(t, "no keys", err, "key.unavailable", "--require chain")
	for what, q := range map[string]Question{"chain": {Require: receipt.LevelChain},
		"a log by itself": {Log: l.path()}} {
		q.Config = l.ask().Config
		if v, err := q.Verify(); err != nil || v.Require != receipt.LevelChain {
			t.Errorf("%s: %+v, %v", what, v, err)
		}
	}
	q := Question{Log: l.path(), Key: public, Config: func() (*config.Config, error) {
		t.Error("a configuration is read for a log of one's own with a key")
		return l.cfg, nil
	}}
	if v, err := q.Verify(); err != nil || v.Level != receipt.LevelHead {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestHints: what is wrong with a log decides what is advised.
func TestHints(t *testing.T) {
	for what, c := range map[string]struct {
		damage     func(l Log)
		code, says string
	}{
		"changed": {
			func(l Log) { l.spoil(t, 2) }, "receipts.broken",
			"from receipt 2 on; without a copy, run claw-receipt set-aside"},
		"shortened":  {func(l Log) { l.shorten(t) }, "receipts.broken", "claw-receipt keys --accept --missing 1"},
		"beheaded":   {func(l Log) { remove(t, l.head()) }, "receipts.unproven", "run: claw-receipt keys --accept"},
		"other keys": {func(l Log) { l.adopt(t, home(t, 1)) }, "receipts.broken", "is the log of another home"},
	} {
		l := home(t, 3)
		c.damage(l)
		v, err := l.ask().Verify()
		fails(t, what, err, c.code, c.says)
		if v == nil || v.Valid || v.Log != l.path() {
			t.Errorf("%s: %+v", what, v)
		}
	}
}

// adopt puts the keys of another home in the place of one's own.
func (l Log) adopt(t *testing.T, other Log) {
	t.Helper()
	remove(t, l.cfg.ReceiptKeysDir(), l.head())
	if err := os.Rename(other.cfg.ReceiptKeysDir(), l.cfg.ReceiptKeysDir()); err != nil {
		t.Fatal(err)
	}
}
