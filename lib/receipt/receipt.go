// Package receipt writes and verifies receipts: for every attempted tool call, allowed, denied or failed, one line in a hash
// chain that anyone can check offline.
//
//	{"id":"receipt-…","timestamp":"2026-05-12T14:00:00Z","conversation_id":"…","tool":"file_read","args_hash":"…",
//	 "result_hash":"…","status":"allowed","risk":"low","previous_hash":"…","receipt_hash":"…"}
//
// receipt_hash is the SHA-256 of the receipt's canonical JSON (RFC 8785) without receipt_hash itself; previous_hash is the
// receipt_hash before it, 64 zeros for the first. All values are texts of printable ASCII, so that `jq -cS` and sha256sum
// alone can check a chain: docs/SCHEMAS.md shows how.
//
// A process that dies in the middle of an append leaves the beginning of a line. The next append ends it with a newline and
// chains to the last whole receipt, so a crash stops nobody; Verify counts such lines and tells of them. Any other line that
// is no receipt is a broken chain, and an end that is none is not appended to.
//
// A chain alone shows an edited, inserted, removed, moved or doubled line, but neither a cut tail nor a log that was
// rewritten as a whole: Report.Evidence says so.
package receipt

import (
	"errors"
	"fmt"
	"strings"
	"time"

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

// body is what a receipt's hash is over. Its fields stand in the order of RFC 8785, by name, so that for texts of printable
// ASCII the encoding is the canonical form.
type body struct {
	ArgsHash       string `json:"args_hash"`
	ConversationID string `json:"conversation_id"`
	ID             string `json:"id"`
	PreviousHash   string `json:"previous_hash"`
	ResultHash     string `json:"result_hash"`
	Risk           string `json:"risk"`
	Status         string `json:"status"`
	Timestamp      string `json:"timestamp"`
	Tool           string `json:"tool"`
}

// idPrefix begins the id of every receipt.
const idPrefix = "receipt-"

// Genesis is the previous_hash of the first receipt.
var Genesis = strings.Repeat("0", 64)

// ErrNotFound means that there is no such receipt.
var ErrNotFound = errors.New("no such receipt")

// hash computes the receipt's hash. The receipt must have passed check, which vouches for printable ASCII.
func (r Receipt) hash() (string, error) {
	raw, err := record.Encode(body{ArgsHash: r.ArgsHash, ConversationID: r.ConversationID, ID: r.ID, PreviousHash: r.PreviousHash,
		ResultHash: r.ResultHash, Risk: r.Risk, Status: r.Status, Timestamp: r.Timestamp, Tool: r.Tool})
	if err != nil {
		return "", fmt.Errorf("encode receipt: %w", err)
	}
	return record.HashBytes(raw), nil
}

// of makes the receipt of a result, without its place in the chain. A risk that nobody stated, or that there is not (a
// forged verdict), is high.
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
	r := Receipt{ID: record.NewID(idPrefix), Timestamp: record.Now(), ConversationID: ascii(res.ConversationID), Tool: ascii(res.Tool),
		ArgsHash: args, ResultHash: resultHash, Status: res.Status, Risk: record.RiskHigh}
	if v := res.Verdict; v != nil && isRisk(v.Risk) {
		r.Risk = v.Risk
	}
	r.PreviousHash = Genesis
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
// %XX, and a long text its beginning, "%..." and its hash. Different texts stay different: in the short form no % is followed
// by a dot.
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
		return b.String()[:maxText-70] + "%..." + record.HashBytes([]byte(s))
	}
	return b.String()
}

// check refuses a receipt with a field that no receipt has. What the hashes are, it does not check.
func (r Receipt) check() error {
	for _, f := range []struct{ name, value string }{{"id", r.ID}, {"timestamp", r.Timestamp}, {"conversation_id", r.ConversationID},
		{"tool", r.Tool}} {
		if len(f.value) > maxText {
			return fmt.Errorf("%s is longer than %d bytes", f.name, maxText)
		}
		for i := range len(f.value) {
			if c := f.value[i]; c < ' ' || c > '~' {
				return fmt.Errorf("%s is not printable ASCII", f.name)
			}
		}
	}
	switch {
	case !strings.HasPrefix(r.ID, idPrefix) || len(r.ID) == len(idPrefix) || strings.Contains(r.ID, " "):
		return errors.New(`id is not "receipt-" and a text without spaces`)
	case !isTime(r.Timestamp):
		return errors.New("timestamp is no time of RFC 3339 in UTC")
	case r.Status != record.StatusAllowed && r.Status != record.StatusDenied && r.Status != record.StatusFailed:
		return errors.New("status is none of allowed, denied and failed")
	case !isRisk(r.Risk):
		return errors.New("risk is none of low, medium and high")
	case !isHash(r.ArgsHash) || !isHash(r.ResultHash) || !isHash(r.PreviousHash):
		return errors.New("args_hash, result_hash or previous_hash is no SHA-256 in lower-case hex")
	}
	return nil
}

func isRisk(s string) bool {
	return s == record.RiskLow || s == record.RiskMedium || s == record.RiskHigh
}

// isTime tells whether s is a time like 2026-05-12T14:00:00Z, with or without a fraction of the second.
func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil && strings.HasSuffix(s, "Z") && !strings.Contains(s, ",")
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
