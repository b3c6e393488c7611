package receipt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// TestKeysReplacedBeforeTheHead: keys that are replaced while a receipt is synced sign its head, or nobody would
// believe it.
func TestKeysReplacedBeforeTheHead(t *testing.T) {
	for _, others := range []int{0, 1} {
		path, o := home(t)
		l := openLog(t, path, o)
		mustAppend(t, l, 2)
		r, _, err := of(result(3), Attestation{})
		if err != nil {
			t.Fatal(err)
		}
		err = l.log.AppendNext(true, func(e *durable.End) ([]byte, error) {
			if err := l.settle(e); err != nil {
				return nil, err
			}
			return l.next(e, &r)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := RotateKeys(o.Keys, path); err != nil {
			t.Fatal(err)
		}
		if others > 0 {
			mustAppend(t, openLog(t, path, o), others)
		}
		if err := l.finish(nil); err != nil {
			t.Fatal(err)
		}
		if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || rep.Count != 3+others ||
			rep.Head != Agrees {
			t.Errorf("with %d receipts of others: %+v", others, rep)
		}
		mustAppend(t, l, 1)
		mustAppend(t, openLog(t, path, o), 1)
	}
}

// TestRecoveredByReplacedKey: who has a signing key that was replaced can have no receipt left out.
func TestRecoveredByReplacedKey(t *testing.T) {
	path, o := home(t)
	l := openLog(t, path, o)
	line := allowedLine(record.NewID(auditPrefix))
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := errors.Join(os.WriteFile(audit, []byte(line), 0o600),
		l.remember(settled{Audit: int64(len(line)), Mark: record.HashBytes([]byte(line))})); err != nil {
		t.Fatal(err)
	}
	opts := RecoverOptions{Audit: audit, Quiet: true, Now: time.Now()}
	if rec, err := l.Recover(opts); err != nil || len(rec.Written) != 0 {
		t.Fatalf("what the key in use signed is not believed, so this tests nothing: %+v, %v", rec, err)
	}
	if _, err := RotateKeys(o.Keys, path); err != nil {
		t.Fatal(err)
	}
	if rec, err := openLog(t, path, o).Recover(opts); err != nil || len(rec.Written) != 1 {
		t.Errorf("recovered %+v, %v", rec, err)
	}
}

// TestReplacedTooOften: keys that could not be read any more are not made.
func TestReplacedTooOften(t *testing.T) {
	path, o := home(t)
	mustAppend(t, openLog(t, path, o), 1)
	k := keysOf(t, o)
	for range 600 {
		if err := k.renew(2); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.savePublic(o.Keys); err == nil {
		t.Error("600 keys are written")
	}
	if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid {
		t.Errorf("%+v", rep)
	}
}

// TestReplacingInterrupted: keys whose replacing was interrupted, behind any step, are in use still, and their heads
// believed.
func TestReplacingInterrupted(t *testing.T) {
	for step := range 3 {
		path, o := home(t)
		mustAppend(t, openLog(t, path, o), 2)
		secret, _ := keyFiles(o.Keys)
		oldHead, oldSecret := read(t, headPath(path)), read(t, secret)
		if _, err := RotateKeys(o.Keys, path); err != nil {
			t.Fatal(err)
		}
		if step < 1 {
			put(t, headPath(path), oldHead)
		}
		if step < 2 {
			put(t, secret, oldSecret)
		}
		check := func(when string) {
			t.Helper()
			k := keysOf(t, o)
			for _, trust := range []Trust{{Keys: k}, {Public: k.Public}} {
				if rep := verifyFile(t, path, trust); !rep.Valid || k.Public[0].RetiredAt != "" {
					t.Errorf("step %d, %s: %+v, %+v", step, when, rep, k.Public)
				}
			}
		}
		put(t, filepath.Join(o.Keys, ".receipt.key.tmp-1"), oldSecret)
		check("interrupted")
		mustAppend(t, openLog(t, path, o), 1)
		check("a receipt more")
		if _, err := RotateKeys(o.Keys, path); err != nil {
			t.Fatal(err)
		}
		check("replaced once more")
		inUse := 0
		for _, p := range keysOf(t, o).Public {
			if p.RetiredAt == "" {
				inUse++
			}
		}
		if left, _ := os.ReadDir(o.Keys); inUse != 1 || len(left) != 2 {
			t.Errorf("step %d: %d keys are believed, files %v", step, inUse, left)
		}
		mustAppend(t, openLog(t, path, o), 1)
		check("and a receipt more")
	}
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
