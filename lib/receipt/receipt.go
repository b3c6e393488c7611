// Package receipt writes and verifies receipts: for every attempted tool call, allowed, denied or failed, one line in a hash
// chain that anyone can check offline.
//
//	{"id":"receipt-…","timestamp":"2026-05-12T14:00:00Z","conversation_id":"…","tool":"file_read","args_hash":"…",
//	 "result_hash":"…","status":"allowed","risk":"low","previous_hash":"…","receipt_hash":"…"}
//
// receipt_hash is the SHA-256 of the receipt's canonical JSON (RFC 8785) without receipt_hash itself; previous_hash is the
// receipt_hash before it, 64 zeros for the first. All values are texts of printable ASCII, so that `jq -cS` and sha256sum alone can check
// a chain: docs/SCHEMAS.md shows how.
package receipt

import (
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
	PreviousHash   string `json:"previous_hash"`
	ReceiptHash    string `json:"receipt_hash"`
}

// body is a receipt without its own hash: what the hash is over.
type body struct {
	ID             string `json:"id"`
	Timestamp      string `json:"timestamp"`
	ConversationID string `json:"conversation_id"`
	Tool           string `json:"tool"`
	ArgsHash       string `json:"args_hash"`
	ResultHash     string `json:"result_hash"`
	Status         string `json:"status"`
	Risk           string `json:"risk"`
	PreviousHash   string `json:"previous_hash"`
}

// Genesis is the previous_hash of the first receipt.
var Genesis = strings.Repeat("0", 64)

// ErrNotFound means that there is no such receipt.
var ErrNotFound = errors.New("no such receipt")

// hash computes the receipt's hash.
func (r Receipt) hash() (string, error) {
	raw, err := record.Encode(body{r.ID, r.Timestamp, r.ConversationID, r.Tool, r.ArgsHash, r.ResultHash, r.Status, r.Risk, r.PreviousHash})
	if err != nil {
		return "", err
	}
	return record.Hash(raw)
}

// of makes the receipt of a result, without its place in the chain.
func of(res record.ToolResult) (Receipt, error) {
	args, err := argsHash(res.Args)
	if err != nil {
		return Receipt{}, fmt.Errorf("hash the arguments: %w", err)
	}
	result, err := record.Encode(struct {
		Success bool   `json:"success"`
		Output  string `json:"output"`
		Error   string `json:"error"`
	}{res.Success, res.Output, res.Error})
	if err != nil {
		return Receipt{}, fmt.Errorf("hash the result: %w", err)
	}
	resultHash, err := record.Hash(result)
	if err != nil {
		return Receipt{}, fmt.Errorf("hash the result: %w", err)
	}
	r := Receipt{ID: record.NewID("receipt-"), Timestamp: record.Now(), ConversationID: ascii(res.ConversationID), Tool: ascii(res.Tool),
		ArgsHash: args, ResultHash: resultHash, Status: res.Status, Risk: record.RiskHigh}
	if res.Verdict != nil {
		r.Risk = res.Verdict.Risk
	}
	return r, r.check()
}

// argsHash is the hash of the arguments' canonical form. Arguments that have none, because a number in them cannot be held
// exactly, are hashed as the JSON text of their bytes: every attempt leaves a receipt.
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

// maxText bounds a text that comes from outside: the name of a tool is the model's choice.
const maxText = 200

// ascii returns a text as printable ASCII without quotes, backslashes and braces: these, other characters and % itself become
// %XX, and a long text its beginning and hash, so that different texts stay different.
func ascii(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`%"\{}`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	if b.Len() > maxText {
		return b.String()[:maxText-70] + "...%" + record.HashBytes([]byte(s))
	}
	return b.String()
}

// check refuses a receipt with a field that no receipt has.
func (r Receipt) check() error {
	for _, f := range []struct{ name, value string }{{"id", r.ID}, {"timestamp", r.Timestamp}, {"conversation_id", r.ConversationID},
		{"tool", r.Tool}, {"args_hash", r.ArgsHash}, {"result_hash", r.ResultHash}} {
		for i := range len(f.value) {
			if c := f.value[i]; c < ' ' || c > '~' {
				return fmt.Errorf("%s is not printable ASCII", f.name)
			}
		}
	}
	switch {
	case !strings.HasPrefix(r.ID, "receipt-"):
		return errors.New(`id does not start with "receipt-"`)
	case r.Status != record.StatusAllowed && r.Status != record.StatusDenied && r.Status != record.StatusFailed:
		return errors.New("status is none of allowed, denied and failed")
	case r.Risk != record.RiskLow && r.Risk != record.RiskMedium && r.Risk != record.RiskHigh:
		return errors.New("risk is none of low, medium and high")
	case !isHash(r.ArgsHash) || !isHash(r.ResultHash):
		return errors.New("args_hash or result_hash is no SHA-256 in lower-case hex")
	}
	return nil
}

func isHash(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// parse reads one line strictly: exactly the fields of a receipt, each a text, in any order.
func parse(line []byte) (Receipt, error) {
	var r Receipt
	if len(line) == 0 || line[0] != '{' || line[len(line)-1] != '}' {
		return r, errors.New("it does not begin and end with a brace")
	}
	if err := record.Decode(line, &r); err != nil {
		return r, err
	}
	if err := r.check(); err != nil {
		return r, err
	}
	h, err := r.hash()
	if err != nil {
		return r, err
	}
	if h != r.ReceiptHash {
		return r, errors.New("receipt_hash is not the hash of its content")
	}
	return r, nil
}
