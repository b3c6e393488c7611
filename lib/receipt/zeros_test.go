package receipt

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestZerosAtTheEnd: however many zeros a power cut leaves, behind the last receipt or behind the beginning of one, the
// next append leaves a log that verifies.
func TestZerosAtTheEnd(t *testing.T) {
	for _, begun := range []string{"", `{"id":"receipt-`, `{"id":"` + strings.Repeat("x", 300)} {
		for _, zeros := range []int{1, 64<<10 - len(begun), 64 << 10, 64<<10 + 1, 128 << 10, 200_000, 64<<10 - 1,
			64<<10 - 10} {
			path, o := home(t)
			mustAppend(t, openLog(t, path, o), 3)
			log := append(append(read(t, path), begun...), make([]byte, zeros)...)
			if err := os.WriteFile(path, log, 0o600); err != nil {
				t.Fatal(err)
			}
			if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || !rep.TornTail {
				t.Errorf("%q and %d zeros: %+v", begun, zeros, rep)
			}
			mustAppend(t, openLog(t, path, o), 1)
			if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || rep.Count != 4 || rep.TornTail ||
				bytes.IndexByte(read(t, path), 0) >= 0 {
				t.Errorf("%q and %d zeros, and a receipt: %+v", begun, zeros, rep)
			}
		}
	}
}

// TestZerosAreNoCover: what is no receipt is not cut away with the zeros that stand behind it.
func TestZerosAreNoCover(t *testing.T) {
	for _, before := range []string{"x", "\x00x", strings.Repeat("x", 10_000), strings.Repeat("x", 200_000), "{\x00}"} {
		path, o := home(t)
		mustAppend(t, openLog(t, path, o), 3)
		log := append(append(read(t, path), before...), make([]byte, 100_000)...)
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openLog(t, path, o).Append(result(1)); !errors.Is(err, ErrTampered) {
			t.Errorf("%.20q: %v", before, err)
		}
		if !bytes.Equal(read(t, path), log) {
			t.Errorf("%.20q: the log was changed", before)
		}
	}
}

// TestPartThatIsNotWhole: behind a part that was changed at its end nothing is written, though the log itself is empty.
func TestPartThatIsNotWhole(t *testing.T) {
	path, o := home(t)
	mustAppend(t, openLog(t, path, o), 3)
	if err := os.WriteFile(partPath(path, 0), append(read(t, path), 0, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(t, path, o).Append(result(1)); !errors.Is(err, ErrTampered) {
		t.Error(err)
	}
	if log := read(t, path); len(log) != 0 {
		t.Errorf("%q was written", log)
	}
}
