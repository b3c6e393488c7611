package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/sys/unix"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// markPath is the note about the log that is being set aside, as long as that lasts.
func markPath(log string) string { return filepath.Join(sideDir(log), "setting-aside") }

const maxMarkBytes = 64 << 10

// mark is what such a note says: which log, and the origin of the one that takes its place.
type mark struct {
	Aside
	to string
}

// sign writes the note, signed by both keys: beside the copy, and beside the log.
func (a Aside) sign(log string, to, from *Keys) error {
	text, err := record.Encode(a)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: to.Origin + asideLabel + string(text) + "\n"}, to.signer, from.signer)
	if err != nil {
		return err
	}
	dir, err := a.dir(log)
	if err == nil {
		err = durable.Replace(filepath.Join(dir, asideNote), signed, 0o400)
	}
	if err == nil {
		err = durable.Replace(markPath(log), signed, 0o600)
	}
	return err
}

// dir is where the copy of a log lies that was set aside.
func (a Aside) dir(log string) (string, error) {
	at, err := time.Parse(record.TimeFormat, a.At)
	return filepath.Join(sideDir(log), asidePrefix+at.UTC().Format("20060102T150405.000Z")), err
}

// setAside says where everything is.
func (a Aside) setAside(log, keys string) SetAside {
	dir, _ := a.dir(log) // a time that makes no sense is not signed
	return SetAside{Aside: a, Log: filepath.Join(dir, filepath.Base(log)),
		Keys: filepath.Join(keys, filepath.Base(dir))}
}

// readMark reads the note, which the key in use must have signed: the log's own before it is replaced, the new one's
// afterwards. Else whoever can write there could have another log read.
func readMark(log string, k *Keys) (m mark, ok bool) {
	f, err := openPart(markPath(log))
	if err != nil {
		return m, false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxMarkBytes))
	if err != nil {
		return m, false
	}
	known, err := verifiers(k.Public[:1])
	if err != nil {
		return m, false
	}
	n, err := note.Open(raw, known)
	if err != nil {
		return m, false
	}
	to, text, ok := strings.Cut(n.Text, asideLabel)
	if !ok || record.Decode([]byte(text), &m.Aside) != nil || k.Origin != to && k.Origin != m.Origin {
		return mark{}, false
	}
	m.to = to
	_, err = m.dir(log)
	return m, err == nil
}

// begun tells whether the log is no more what was copied: the head is the first to be replaced.
func (m mark) begun(log string) bool {
	raw, err := readHead(log)
	return err == nil && strings.HasPrefix(string(raw), m.to+"/head\n")
}

// whole tells whether the copy is what was there, before the rest of that is removed.
func (m mark) whole(log string) error {
	copied := m.setAside(log, "").Log
	parts, err := countParts(copied)
	if err != nil {
		return fmt.Errorf("set the log aside: %w", err)
	}
	sum := sha256.New()
	for i := range parts + 1 {
		path := copied
		if i < parts {
			path = partPath(copied, i)
		}
		if err := sumPart(sum, path); err != nil {
			return fmt.Errorf("set the log aside: %w", err)
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return fmt.Errorf("%w: the copy %s differs from what was set aside; nothing more is removed", ErrTampered,
			copied)
	}
	return nil
}

// covers tells whether all that is left of the log is in the copy: the parts that are not removed yet, and the log
// itself, if it does not hold the beginning of the new one already. The log is locked.
func (m mark) covers(log string) (bool, error) {
	copied := m.setAside(log, "").Log
	had, err := countParts(copied)
	if err != nil {
		return false, fmt.Errorf("set the log aside: %w", err)
	}
	has, err := countParts(log)
	if err != nil || has > had {
		return false, err
	}
	for i := range has {
		if same, err := sameSum(partPath(log, i), partPath(copied, i)); err != nil || !same {
			return false, err
		}
	}
	if same, err := sameSum(log, copied); err != nil || same || has > 0 {
		return same, err
	}
	return m.opens(log)
}

// opens tells whether a log holds no more than the first receipt of the one that takes the other's place.
func (m mark) opens(log string) (bool, error) {
	f, err := openPart(log)
	if err != nil {
		return false, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxMarkBytes))
	if err != nil || len(raw) == maxMarkBytes {
		return false, err
	}
	line, ended := bytes.CutSuffix(raw, []byte{'\n'})
	want, err := m.receipt()
	if err != nil {
		return false, err
	}
	if r, err := Parse(line); err == nil {
		return r.Tool == want.Tool && r.ArgsHash == want.ArgsHash, nil
	}
	return len(raw) == 0 || !ended && torn(line), nil
}

func sameSum(a, b string) (bool, error) {
	x, y := sha256.New(), sha256.New()
	if err := errors.Join(sumPart(x, a), sumPart(y, b)); err != nil {
		return false, fmt.Errorf("set the log aside: %w", err)
	}
	return bytes.Equal(x.Sum(nil), y.Sum(nil)), nil
}

func sumPart(sum io.Writer, path string) error {
	f, err := openPart(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(sum, f)
	return err
}

// Unfinished tells whether a log took the place of another, and setting that aside was interrupted before all that it
// left was removed.
func Unfinished(path string, k *Keys) bool {
	m, ok := readMark(path, k)
	return ok && m.to == k.Origin
}

// OpenIn is Open for a log with keys in a directory. Where setting it aside was interrupted, and it is still the one
// that counts, it is read from the copy.
func OpenIn(path, keys string) (*Source, error) {
	if _, err := os.Lstat(markPath(path)); err == nil {
		if k, err := LoadKeys(keys); err == nil {
			if m, ok := readMark(path, k); ok && k.Origin == m.Origin && m.begun(path) && m.replaces(path) {
				return Open(m.setAside(path, keys).Log)
			}
		}
	}
	return Open(path)
}

// replaces is covers for who does not hold the lock.
func (m mark) replaces(log string) bool {
	f, err := openPart(log)
	if err != nil {
		return false
	}
	defer f.Close()
	if err := durable.Flock(f, unix.LOCK_SH); err != nil {
		return false
	}
	copied, err := m.covers(log) // closing the file unlocks it
	return err == nil && copied
}
