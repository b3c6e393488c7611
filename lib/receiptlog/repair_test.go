package receiptlog

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// TestSetAside: only a log that is damaged is set aside, and only if somebody says so.
func TestSetAside(t *testing.T) {
	spoilt := func(l Log) { l.spoil(t, 2) }
	odd := errors.New("odd")
	for what, c := range map[string]struct {
		damage     func(l Log)
		reason     string
		ask        func(context.Context, string) (bool, error)
		asked      bool
		code, says string
	}{
		"yes":             {spoilt, "r", says(true, nil), true, "", ""},
		"nobody is asked": {spoilt, "r", nil, false, "", ""},
		"no":              {spoilt, "r", says(false, nil), true, "denied", "you said no"},
		"no terminal":     {spoilt, "r", says(false, terminal.ErrNoTerminal), true, "denied", "--yes"},
		"no answer":       {spoilt, "r", says(true, odd), true, "odd", ""},
		"no reason":       {spoilt, "", says(true, nil), false, "usage", "--reason"},
		"a long reason":   {spoilt, strings.Repeat("r", 1001), says(true, nil), false, "usage", "--reason"},
		"sound":           {func(Log) {}, "r", says(true, nil), false, "usage", "nothing is wrong with it"},
		"only a head lost": {
			func(l Log) { remove(t, l.head()) }, "r", says(true, nil), false, "usage", "keys --accept"},
		"no keys": {
			func(l Log) { remove(t, l.cfg.ReceiptKeysDir()) }, "r", says(true, nil), false, "key.unavailable", ""},
		"no log": {
			func(l Log) { remove(t, l.path()) }, "r", says(true, nil), false, "receipts.missing", ""},
	} {
		l := home(t, 3)
		c.damage(l)
		question := ""
		ask := func(ctx context.Context, q string) (bool, error) {
			question = q
			return c.ask(ctx, q)
		}
		if c.ask == nil {
			ask = nil
		}
		before, _ := os.ReadFile(l.path())
		done, err := l.SetAside(context.Background(), c.reason, ask)
		if c.code == "odd" {
			if !errors.Is(err, odd) {
				t.Errorf("%s: %v", what, err)
			}
		} else {
			fails(t, what, err, c.code, c.says)
		}
		if c.asked != strings.Contains(question, "is damaged at receipt 2: ") {
			t.Errorf("%s: asked %q", what, question)
		}
		after, _ := os.ReadFile(l.path())
		if c.code != "" && string(after) != string(before) {
			t.Errorf("%s: the log was changed", what)
		}
		if c.code == "" {
			l.begun(t, what, done)
		}
	}
}

func says(yes bool, err error) func(context.Context, string) (bool, error) {
	return func(context.Context, string) (bool, error) { return yes, err }
}

// begun checks that a new log took the place of one that was damaged, and that the old one speaks as before.
func (l Log) begun(t *testing.T, what string, done Aside) {
	t.Helper()
	v, err := l.ask().Verify()
	if err != nil || v.Count != 1 || !v.After {
		t.Errorf("%s: the new log: %+v, %v", what, v, err)
	}
	q := l.ask()
	q.Log = done.Log
	v, err = q.Verify()
	fails(t, what+": the old log", err, "receipts.broken", "compare ")
	if v == nil || v.Count != 2 || v.Macs != receipt.Valid {
		t.Errorf("%s: the old log: %+v", what, v)
	}
}

// TestAccept: a head is signed only for a log of which nothing is wrong but its end, and losses must be named.
func TestAccept(t *testing.T) {
	for what, c := range map[string]struct {
		damage     func(l Log)
		missing    int
		code, says string
	}{
		"beheaded":           {func(l Log) { remove(t, l.head()) }, 0, "", ""},
		"shortened":          {func(l Log) { l.shorten(t) }, 0, "receipts.broken", "--accept --missing 1"},
		"shortened, by more": {func(l Log) { l.shorten(t) }, 2, "receipts.broken", ""},
		"shortened, as said": {func(l Log) { l.shorten(t) }, 1, "", ""},
		"changed":            {func(l Log) { l.spoil(t, 2) }, 0, "receipts.broken", "receipt 2"},
		"no keys": {
			func(l Log) { remove(t, l.cfg.ReceiptKeysDir()) }, 0, "key.unavailable", "clawsh init"},
	} {
		l := home(t, 3)
		c.damage(l)
		k, err := l.Accept(c.missing)
		fails(t, what, err, c.code, c.says)
		if err != nil {
			continue
		}
		if _, err := l.ask().Verify(); err != nil || k.Created || len(k.Public) != 1 {
			t.Errorf("%s: %+v, %v", what, k, err)
		}
	}
}

// TestRotate: new keys are first, the old ones are named with when they were retired, and the log stays proven.
func TestRotate(t *testing.T) {
	l := home(t, 2)
	before, err := l.Keys(false)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.RotateKeys()
	if err != nil || !after.Created || len(after.Public) != 2 || after.Public[1].Key != before.Public[0].Key ||
		after.Public[1].RetiredAt == "" || after.Origin != before.Origin {
		t.Errorf("%+v, %v", after, err)
	}
	var b strings.Builder
	if err := after.WriteText(&b); err != nil || strings.Count(b.String(), "\n") != 2 ||
		!strings.HasSuffix(b.String(), " "+after.Public[1].RetiredAt+"\n") {
		t.Errorf("%s, %v", b.String(), err)
	}
	if v, err := l.ask().Verify(); err != nil || v.Level != receipt.LevelHead {
		t.Errorf("%+v, %v", v, err)
	}
	remove(t, l.cfg.ReceiptKeysDir())
	_, err = l.RotateKeys()
	fails(t, "no keys", err, "key.unavailable", "clawsh init")
}

// TestCreateKeys: keys are made once, and not where their loss would be hidden.
func TestCreateKeys(t *testing.T) {
	for what, c := range map[string]struct {
		with       func(l Log)
		lost       bool
		code, says string
	}{
		"there":                  {func(Log) {}, false, "", ""},
		"there, said to be lost": {func(Log) {}, true, "usage", "--lost is for a log whose keys are lost"},
		"damaged":                {func(l Log) { l.spoil(t, 1) }, true, "usage", "claw-receipt set-aside"},
		"beheaded":               {func(l Log) { remove(t, l.head()) }, true, "usage", "keys --accept"},
		"no home": {
			func(l Log) { remove(t, l.cfg.KeysDir()) }, false, "not_initialised", "clawsh init"},
		"moved": {func(l Log) { l.cfg.Receipts.Path += ".new" }, false, "receipts.moved", ""},
	} {
		l := home(t, 2)
		c.with(l)
		k, err := l.CreateKeys(c.lost)
		fails(t, what, err, c.code, c.says)
		if k.Created {
			t.Errorf("%s: keys were made", what)
		}
	}
}
