package receipt

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"clawsh/lib/spelling"
)

// consistencyLabel is the first line of a consistency proof.
const consistencyLabel = "clawsh-receipt-consistency-v1"

// Consistency shows that a log as it was checkpointed is the beginning of the log as it was checkpointed later.
type Consistency struct {
	Origin   string
	Old, New tlog.Tree
	// RetiredAt is when a key was replaced that signed one of them, the later of both; empty if none was.
	RetiredAt string

	checkpoints [2][]byte
	hashes      tlog.TreeProof
}

// ProveConsistency proves that the log, which has the newer of two checkpoints, begins with the older. Against of t
// holds both.
func ProveConsistency(r io.Reader, t Trust) (*Consistency, error) {
	c, err := openConsistency(t.Against, t.Public)
	if err != nil {
		return nil, err
	}
	prove := func(v *verifier, hashes tlog.HashReader) (err error) {
		if v.report.Chain != Intact || v.report.Checkpoint != Extended {
			return errTiles // reading it all says what is wrong
		}
		if c.hashes, err = tlog.ProveTree(c.New.N, c.Old.N, hashes); err == nil {
			err = c.check()
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", errTiles, err)
		}
		return err
	}
	if done, err := byTiles(r, t, func(w *view) error { return prove(w.v, w.g) }); done || err != nil {
		return c, err
	}
	v := &verifier{trust: t, grown: newGrowth()}
	if err := v.run(r); err != nil {
		return nil, err
	}
	if err := prove(v, v.grown); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrTampered, v.report.Evidence)
	}
	return c, nil
}

// openConsistency opens the two checkpoints of a proof.
func openConsistency(raw []byte, keys []PublicKey) (*Consistency, error) {
	list, err := openKept(raw, keys)
	if err != nil {
		return nil, err
	}
	if len(list) != 2 {
		return nil, fmt.Errorf("%w: want an older one and a newer one, there are %d", ErrCheckpoint, len(list))
	}
	origin, _, _ := bytes.Cut(list[0].raw, []byte{'\n'})
	other, _, _ := bytes.Cut(list[1].raw, []byte{'\n'})
	if !bytes.Equal(origin, other) {
		return nil, fmt.Errorf("%w: they are of different logs", ErrCheckpoint)
	}
	if list[0].N == 0 {
		return nil, fmt.Errorf("%w: the older one counts no receipts, so there is nothing to prove", ErrCheckpoint)
	}
	return &Consistency{Origin: string(origin), Old: list[0].Tree, New: list[1].Tree,
		RetiredAt:   max(list[0].retired, list[1].retired),
		checkpoints: [2][]byte{list[0].raw, list[1].raw}}, nil
}

func (c *Consistency) check() error {
	if c.Old.N == c.New.N { // of a tree and itself, tlog checks no roots
		if c.Old.Hash != c.New.Hash || len(c.hashes) > 0 {
			return errors.New("two checkpoints with the same number of receipts have different roots")
		}
		return nil
	}
	return tlog.CheckTree(c.hashes, c.New.N, c.New.Hash, c.Old.N, c.Old.Hash)
}

// Encode is the proof as text.
func (c *Consistency) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, consistencyLabel)
	for _, h := range c.hashes {
		fmt.Fprintln(&b, base64.StdEncoding.EncodeToString(h[:]))
	}
	fmt.Fprintf(&b, "\n%s%s", c.checkpoints[0], c.checkpoints[1])
	return b.Bytes()
}

// IsConsistency tells whether a text is meant to be a consistency proof, and not one of a receipt.
func IsConsistency(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte(consistencyLabel))
}

// CheckConsistency reads a consistency proof and checks all that it says, by one of the keys: the signatures of both
// checkpoints, and that the newer tree begins with the older.
func CheckConsistency(raw []byte, keys []PublicKey) (*Consistency, error) {
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	top, checkpoints, ok := bytes.Cut(raw, []byte("\n\n"))
	lines := strings.Split(string(top), "\n")
	if !ok || lines[0] != consistencyLabel || len(raw) > maxProofBytes {
		return nil, fmt.Errorf("read the proof: want %q, hashes and two checkpoints, in at most %d bytes",
			consistencyLabel, maxProofBytes)
	}
	c, err := openConsistency(checkpoints, keys)
	if err != nil {
		return nil, err
	}
	for _, l := range lines[1:] {
		h, err := base64.StdEncoding.Strict().DecodeString(l)
		if err != nil || len(h) != tlog.HashSize {
			return nil, errors.New("read the proof: invalid hash")
		}
		c.hashes = append(c.hashes, tlog.Hash(h))
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("the proof is wrong: the newer tree does not begin with the older")
	}
	return c, nil
}

// Kept tells whether a checkpoint that somebody kept, signed by one of the keys, is of this tree.
func Kept(raw []byte, keys []PublicKey, tree tlog.Tree) error {
	list, err := openKept(raw, keys)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Tree == tree {
			return nil
		}
	}
	return fmt.Errorf("%w: the proof is from another one, of %s with the root %s", ErrCheckpoint,
		spelling.Count(tree.N, "receipt"), tree.Hash)
}
