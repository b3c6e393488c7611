package receipt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// kept is a checkpoint that was kept, and as it was.
type kept struct {
	tlog.Tree
	raw     []byte
	retired string // when the key was replaced that signed it
}

// openKept checks the signatures of one or more checkpoints (https://c2sp.org/tlog-checkpoint), one behind the other,
// and returns them, the smallest first.
func openKept(raw []byte, keys []PublicKey) ([]kept, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there is no key to check it with", ErrCheckpoint)
	}
	known, err := verifiers(keys)
	if err != nil {
		return nil, err
	}
	var list []kept
	for i, text := range splitNotes(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))) { // as a mail leaves it
		n, err := note.Open(text, known)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d in the file: %w", ErrCheckpoint, i+1, whyUnsigned(err))
		}
		tree, err := parseCheckpoint(n.Text, n.Sigs[0].Name)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d in the file: %w", ErrCheckpoint, i+1, err)
		}
		list = append(list, kept{tree, text, retiredAt(n.Sigs, keys)})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrCheckpoint)
	}
	slices.SortStableFunc(list, func(a, b kept) int { return cmp.Compare(a.N, b.N) })
	return list, nil
}

// retiredAt is when the last of the keys was replaced that signed, empty if one of them is in use.
func retiredAt(sigs []note.Signature, keys []PublicKey) (at string) {
	for _, k := range keys {
		v, err := note.NewVerifier(k.Key)
		if err != nil || !slices.ContainsFunc(sigs, func(s note.Signature) bool {
			return s.Name == v.Name() &&
				s.Hash == v.KeyHash()
		}) {
			continue
		}
		if k.RetiredAt == "" {
			return ""
		}
		at = max(at, k.RetiredAt)
	}
	return at
}

// whyUnsigned tells a note of another key from what is no note at all.
func whyUnsigned(err error) error {
	var other *note.UnverifiedNoteError
	if errors.As(err, &other) && len(other.Note.UnverifiedSigs) > 0 {
		s := other.Note.UnverifiedSigs[0]
		return fmt.Errorf("it is signed by %.100q, key %08x, not by a key of this log; the keys may have been replaced, or the log is another one", s.Name, s.Hash)
	}
	var wrong *note.InvalidSignatureError
	if errors.As(err, &wrong) {
		return errors.New("its signature is invalid, so it was changed")
	}
	return errors.New("it is not a checkpoint: want three lines, an empty line and a signature, as claw-receipt checkpoint writes them")
}

// splitNotes takes signed notes apart that stand one behind the other: each ends with lines that begin with a dash.
func splitNotes(raw []byte) [][]byte {
	var notes [][]byte
	var one []byte
	signed := false
	for line := range bytes.Lines(raw) {
		dash := bytes.HasPrefix(line, []byte("— "))
		if signed && !dash {
			notes, one, signed = append(notes, one), nil, false
		}
		if len(one) == 0 && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		one = append(one, line...)
		signed = dash
	}
	if len(one) > 0 {
		notes = append(notes, one)
	}
	return notes
}

// pass holds the log against each checkpoint that it has come to: n receipts have been read.
func (v *verifier) pass(n int64) error {
	for ; v.reached < len(v.kept) && v.kept[v.reached].N <= n; v.reached++ {
		c := &v.kept[v.reached]
		if c.N == 0 {
			continue // nothing is always extended
		}
		root, err := v.tree.root()
		if err != nil {
			return err
		}
		if root != c.Hash && v.forked == nil {
			v.forked = c
		}
	}
	return nil
}
