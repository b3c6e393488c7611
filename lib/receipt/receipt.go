// Package receipt writes and verifies receipts: for every attempted tool call, allowed, denied or failed, one line in a
// hash chain that anyone can check offline.
//
//	{"id":"receipt-…","timestamp":"2026-05-12T14:00:00.000Z","conversation_id":"…","tool":"file_read","args_hash":"…",
//	 "result_hash":"…","status":"allowed","risk":"low","attestation":"…",
//	 "previous_hash":"…","receipt_hash":"…","mac":"…"}
//
// # What is written
//
// receipt_hash is the SHA-256 of the receipt's canonical JSON (RFC 8785) without receipt_hash and mac; previous_hash is
// the receipt_hash before it, 64 zeros for the first. mac is HMAC-SHA256 (RFC 2104), with a key of this home, of
// macDomain and receipt_hash. All values are texts of printable ASCII, so that `jq -cS`, sha256sum and openssl alone
// can check a log: docs/SCHEMAS.md shows how. A receipt has one spelling only.
//
// Beside the log LOG, in the directory LOG.d, lie the signed head (a note of how many receipts there are and the hash
// of the last) and older parts of the log, once it has been rotated. The keys lie in the home's keys/receipt.
//
// # What it is worth
//
// The chain alone shows an edited, inserted, removed, moved or doubled line. The macs show that whoever wrote them had
// the key: a chain that somebody rewrote from some receipt on has wrong ones. The head shows a cut tail, and an older
// log that was put in the place of the newer one. Somebody who holds the key can rewrite everything, and somebody who
// keeps an old log with its head can put both back: against these only a Checkpoint helps that is kept where they
// cannot write.
//
// # A crash
//
// A receipt that Append returned survives. A process that dies in the middle of an append leaves the beginning of a
// line, which the next append moves to LOG.d and cuts off; a process that dies between the receipt and the head leaves
// the head behind, which the next append brings up to date. Verify tells both from tampering. A call that was allowed
// and whose process died before its receipt was written gets one from Recover.
package receipt

import (
	"cmp"
	"crypto/hmac"
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/record"
)

// Receipt is one line of the log.
type Receipt struct {
	ID             string `json:"id"`
	Timestamp      string `json:"timestamp"`
	ConversationID string `json:"conversation_id"`
	Tool           string `json:"tool"`
	ArgsHash       string `json:"args_hash"`
	ResultHash     string `json:"result_hash"`
	Status         string `json:"status"`
	Risk           string `json:"risk"`
	Attestation    string `json:"attestation,omitzero"`
	PreviousHash   string `json:"previous_hash"`
	ReceiptHash    string `json:"receipt_hash"`
	MAC            string `json:"mac,omitzero"`
}

// idPrefix begins the id of every receipt, auditPrefix that of a line of the gate's audit log, sealPrefix that of a
// seal.
const (
	idPrefix    = "receipt-"
	auditPrefix = "audit-"
	sealPrefix  = "seal-"
)

// Genesis is the previous_hash of the first receipt.
var Genesis = strings.Repeat("0", 64)

// Reasons for which there is no receipt; test with errors.Is.
var (
	ErrNotFound   = errors.New("no such receipt")
	ErrExists     = errors.New("the call already has a receipt")
	ErrCheckpoint = errors.New("the checkpoint does not match")
	ErrTampered   = errors.New("the receipt log does not match its head (tampered with or restored)")
	ErrLost       = errors.New("the receipts are gone")
)

// of makes the receipt of a result, without its place in the chain. A risk that nobody stated, or that there is not (a
// forged verdict), is high. ids are those that it may have, the best first, if there may be one receipt only of this
// result: that of the gate's decision, which the seal vouches for, and that of the seal.
func of(res record.ToolResult, a Attestation) (r Receipt, ids []string, err error) {
	args, err := argsHash(res.Args)
	if err != nil {
		return Receipt{}, nil, fmt.Errorf("hash the arguments: %w", err)
	}
	result, err := resultHash(res.Success, res.Output, res.Error)
	if err != nil {
		return Receipt{}, nil, err
	}
	r = Receipt{ID: record.NewID(idPrefix), Timestamp: record.Now(), ConversationID: ascii(res.ConversationID),
		Tool:     ascii(res.Tool),
		ArgsHash: args, ResultHash: result, Status: res.Status, Risk: record.RiskHigh,
		Attestation:  cmp.Or(a.By, Unattested),
		PreviousHash: Genesis, ReceiptHash: Genesis}
	if v := res.Verdict; v != nil && isRisk(v.Risk) {
		r.Risk = v.Risk
	}
	l := lineOf(r)
	return r, a.ids(), l.check()
}

// Values of a receipt's attestation that name no executor: nobody vouches for the result; and the receipt is Recover's
// own word.
const (
	Unattested = "unattested"
	Recovered  = "recovered"
)

// Attestation says who vouches for a result, the zero value that nobody does: By is the key (16 hex digits) by which it
// was sealed, Seal the id of the seal, and Audit the id of the gate's decision whose permit it came of, if any.
type Attestation struct{ By, Seal, Audit string }

// ids are what the receipt of a sealed result may be called: two results never share one that counts.
func (a Attestation) ids() []string {
	var out []string
	if a.By == "" {
		return out
	}
	if id, ok := idOf(a.Audit); ok {
		out = append(out, id)
	}
	if id, ok := strings.CutPrefix(a.Seal, sealPrefix); ok {
		out = append(out, idPrefix+id)
	}
	return out
}

// idOf is the id of the receipt of a call that the gate has allowed: that of the line in its audit log, with another
// prefix. So the two can be joined, and a call that has no receipt be found.
func idOf(auditID string) (string, bool) {
	id, ok := strings.CutPrefix(auditID, auditPrefix)
	return idPrefix + id, ok && len(id) == 36 && strings.Trim(id, "0123456789abcdef-") == ""
}

// resultHash is the hash of what became of a call.
func resultHash(success bool, output, failure string) (string, error) {
	raw, err := record.Encode(struct {
		Success bool   `json:"success"`
		Output  string `json:"output"`
		Error   string `json:"error"`
	}{success, output, failure})
	if err != nil {
		return "", fmt.Errorf("hash the result: %w", err)
	}
	h, err := record.Hash(raw)
	if err != nil {
		return "", fmt.Errorf("hash the result: %w", err)
	}
	return h, nil
}

// argsHash is the hash of the arguments' canonical form. Arguments that have none, because a number in them cannot be
// held exactly, are hashed as the JSON text of their bytes: every attempt leaves a receipt.
func argsHash(args record.Raw) (string, error) {
	if len(args) == 0 {
		args = record.Raw("null")
	}
	if h, err := record.Hash(args); err == nil {
		return h, nil
	}
	text, err := record.Encode(string(args))
	if err != nil {
		return "", err
	}
	return record.Hash(text)
}

// Check tells what is wrong with the receipt of that number, by itself: it must be spelt as receipts are, have the hash
// of its content and, if there are keys, a mac by one of them unless it is older. Its place in the chain is for Verify.
func (r Receipt) Check(number int, k *Keys) error {
	l := lineOf(r)
	if _, err := Parse(l.encode()); err != nil {
		return err
	}
	switch {
	case k == nil:
		return nil
	case r.MAC == "" && number <= k.Adopted:
		return nil
	case r.MAC == "":
		return errors.New("its MAC is missing")
	}
	if i := k.keyOf(number); i >= 0 && hmac.Equal([]byte(macBy(k.macs[i].key, r.ReceiptHash)), []byte(r.MAC)) {
		return nil
	}
	return errors.New("its MAC was not made with the key of this log")
}

// Compare tells whether the content of a result, its arguments and what became of them, is what the receipt was written
// for.
func (r Receipt) Compare(res record.ToolResult) (args, result bool, err error) {
	a, err := argsHash(res.Args)
	if err != nil {
		return false, false, fmt.Errorf("hash the arguments: %w", err)
	}
	h, err := resultHash(res.Success, res.Output, res.Error)
	return a == r.ArgsHash, h == r.ResultHash && res.Status == r.Status, err
}
