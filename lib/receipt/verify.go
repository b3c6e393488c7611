package receipt

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// What Verify found of the chain, the macs, the head and the checkpoint.
const (
	Intact     = "intact"      // chain: every receipt is as it was written, in its place
	Broken     = "broken"      // chain, macs
	Valid      = "valid"       // macs: all that there must be
	None       = "none"        // macs, head, checkpoint: there is none
	NotChecked = "not_checked" // macs, head: there is no key
	Agrees     = "agrees"      // head
	Behind     = "behind"      // head: the last receipts came after it, as a crash leaves it
	Disagrees  = "disagrees"   // head, checkpoint
	Extended   = "extended"    // checkpoint: the log begins with what was checkpointed
)

// Levels of evidence, each on top of those before it.
const (
	LevelNone       = "none"
	LevelChain      = "chain"
	LevelMac        = "mac"
	LevelHead       = "head"
	LevelCheckpoint = "checkpoint"
)

// Levels are the levels that can be required, from the weakest to the strongest.
var Levels = []string{LevelChain, LevelMac, LevelHead, LevelCheckpoint}

// Trust is what a log is held against.
type Trust struct {
	Keys    *Keys       // to check macs with
	Public  []PublicKey // to check signatures with
	Against []byte      // one or more concatenated checkpoints; nil: none. An empty text is an error
	// Attested refuses a log with results that nobody vouches for, from the first on that was written since results are
	// sealed.
	Attested bool
	// Require is the level that the log must reach to be valid; empty is what the rest of Trust can establish.
	Require string
}

// require is the level that is asked for.
func (t Trust) require() string {
	switch {
	case t.Require != "":
		return t.Require
	case t.Against != nil:
		return LevelCheckpoint
	case t.Keys != nil, len(t.Public) > 0:
		return LevelHead
	}
	return LevelChain
}

// Report is what Verify found. Count is the number of receipts read, a bad one included; FirstBad is the number of
// the first receipt that is not as required, counted from 1, and 0 if there is none; LastHash is the receipt_hash of
// the last good one. TornTail means that the log ends with an incomplete line, which is not a receipt. Level is the
// strongest level that the log reaches, and Valid reports whether that is enough.
type Report struct {
	Valid      bool   `json:"valid"`
	Require    string `json:"require"`
	Level      string `json:"level"`
	Count      int    `json:"count"`
	FirstBad   int    `json:"first_bad,omitzero"`
	Reason     string `json:"reason,omitzero"`
	TornTail   bool   `json:"torn_tail,omitzero"`
	LastHash   string `json:"last_hash"`
	Chain      string `json:"chain"`
	Macs       string `json:"macs"`
	Head       string `json:"head"`
	HeadCount  int    `json:"head_count,omitzero"`
	Checkpoint string `json:"checkpoint"`
	Size       int    `json:"checkpoint_count,omitzero"`
	Attested   int    `json:"attested"`             // receipts of results that claw-exec has sealed
	Unattested int    `json:"unattested"`           // that nobody vouches for
	Recovered  int    `json:"recovered"`            // that Recover wrote
	Unmarked   int    `json:"unmarked"`             // that were written before results were sealed
	After      bool   `json:"after_aside,omitzero"` // it took the place of a log that was set aside
	Evidence   string `json:"evidence"`

	// Lacking is FirstBad where the log is sound, and refused for a result alone that nobody vouches for.
	Lacking int `json:"-"`

	bytes int64 // that the good receipts take with their newlines
}

// Verify replays a log in constant memory and checks it against what is trusted, including the head of r if r is a
// Source. An unfinished line at the end, left by a dying process, is not a receipt; anywhere else it breaks the
// chain. An error means that the log could not be read, or that the checkpoint or a key is malformed, not that the
// log is bad.
func Verify(r io.Reader, t Trust) (Report, error) {
	v := &verifier{trust: t}
	if err := v.run(r); err != nil {
		return Report{}, err
	}
	return v.report, nil
}

// verifier is one run of Verify.
type verifier struct {
	trust     Trust
	report    Report
	macs      []hash.Hash // of Trust.Keys, the oldest first
	head      *head
	headBad   string
	headHash  string // of the receipt that the head names
	headSize  int64  // of the receipts up to it
	kept      []kept
	reached   int     // how many of them the log has been held against
	forked    *kept   // the first that the log does not begin with
	tree      *tree   // nil if no root is wanted
	grown     *growth // nil if no tiles are
	macBad    int
	macReason string
	macSeen   bool
	problems  [5]problem // by rank of the level
	lacking   problem    // the first result that nobody vouches for
	buf       []byte
	last      [64]byte
}

func (v *verifier) run(r io.Reader) error {
	copy(v.last[:], Genesis)
	if err := v.prepare(r); err != nil {
		return err
	}
	return v.replay(r)
}

// replay verifies what r holds, behind what has been verified.
func (v *verifier) replay(r io.Reader) error {
	var chainErr error
	err := each(r, func(raw []byte, ended bool) error {
		if v.report.TornTail = !ended; v.report.TornTail && torn(raw) {
			return nil
		}
		v.report.Count++
		chainErr = v.receipt(raw)
		return chainErr
	})
	if err != nil && chainErr == nil {
		return fmt.Errorf("read the receipts: %w", err)
	}
	v.conclude(chainErr)
	return nil
}

// prepare opens head and checkpoint.
func (v *verifier) prepare(r io.Reader) error {
	if v.trust.Keys != nil {
		for _, m := range v.trust.Keys.macs {
			v.macs = append(v.macs, hmac.New(sha256.New, m.key))
		}
		if v.trust.Public == nil {
			v.trust.Public = v.trust.Keys.Public
		}
	}
	if src, ok := r.(*Source); ok && src.head != nil && len(v.trust.Public) > 0 {
		h, err := openHead(src.head, v.trust.Public)
		if v.head = &h; err != nil {
			v.headBad = err.Error()
		}
		v.headHash = Genesis
	} else if ok && src.head != nil {
		v.report.Head = NotChecked
	}
	if v.trust.Against != nil {
		var err error
		if v.kept, err = openKept(v.trust.Against, v.trust.Public); err != nil {
			return err
		}
		if v.tree == nil {
			v.tree = &tree{}
		}
	}
	return nil
}

// receipt checks one line and its place in the chain.
func (v *verifier) receipt(raw []byte) error {
	var l line
	if err := l.scan(raw); err != nil {
		return err
	}
	var h [64]byte
	v.buf = l.sum(&h, v.buf)
	switch {
	case !bytes.Equal(h[:], l[fHash]):
		return errContent
	case !bytes.Equal(v.last[:], l[fPrevious]):
		return errors.New("previous_hash is not the hash of the receipt before it")
	}
	v.mac(&l)
	v.attestation(&l)
	if v.report.Count == 1 && string(l[fTool]) == asideTool && string(l[fAttestation]) == Recovered {
		v.report.After = true
	}
	v.last = h
	v.report.bytes += int64(len(raw)) + 1
	n := v.report.Count
	if v.head != nil && v.head.count == n {
		v.headHash, v.headSize = string(h[:]), v.report.bytes
	}
	if v.grown != nil {
		if err := v.grown.add(raw, l[fID]); err != nil {
			return err
		}
	}
	if v.tree != nil {
		if err := v.tree.add(raw); err != nil {
			return err
		}
		return v.pass(int64(n))
	}
	return nil
}

// attestation counts who vouches for the results.
func (v *verifier) attestation(l *line) {
	r := &v.report
	why := ""
	switch string(l[fAttestation]) {
	case "":
		if r.Unmarked++; r.Unmarked < r.Count {
			why = "it lacks the attestation that earlier receipts have"
		}
	case Unattested:
		r.Unattested++
		why = "claw-exec did not seal the result, or it was changed on the way"
	case Recovered:
		r.Recovered++
	default:
		r.Attested++
	}
	if why != "" && v.lacking.reason == "" {
		v.lacking = problem{number: r.Count, reason: why}
	}
}

// mac checks that a receipt has the mac that it must have, by the key that was in use.
func (v *verifier) mac(l *line) {
	v.macSeen = v.macSeen || l[fMac] != nil
	if v.macBad > 0 || len(v.macs) == 0 {
		return
	}
	n, k := v.report.Count, v.trust.Keys
	if l[fMac] == nil {
		switch {
		case n > k.Adopted:
			v.macBad, v.macReason = n, "its MAC is missing"
		case n == k.Adopted && string(l[fHash]) != k.AdoptedHash:
			v.macBad, v.macReason = n, "it is not the receipt that was last when the key was created"
		}
		return
	}
	if i := k.keyOf(n); i >= 0 && v.sumsTo(v.macs[i], l[fHash], l[fMac]) {
		return
	}
	v.macBad, v.macReason = n, "its MAC was not made with the key of this log"
}

// sumsTo tells whether a mac is that of a receipt's hash.
func (v *verifier) sumsTo(m hash.Hash, receiptHash, want []byte) bool {
	v.buf = append(append(v.buf[:0], macDomain...), receiptHash...)
	m.Reset()
	m.Write(v.buf)
	v.buf = m.Sum(v.buf[:0])
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], v.buf)
	return hmac.Equal(text[:], want)
}
