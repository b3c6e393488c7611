package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/record"
)

// maxLineBytes is longer than any receipt: its texts are bounded.
const maxLineBytes = 8 << 10

// The fields of a receipt in the order in which they are written. fMac is missing where there was no key yet,
// fAttestation in what was written before results were sealed.
const (
	fID = iota
	fTimestamp
	fConversation
	fTool
	fArgs
	fResult
	fStatus
	fRisk
	fAttestation
	fPrevious
	fHash
	fMac
	fieldCount
)

var fieldNames = [fieldCount]string{"id", "timestamp", "conversation_id", "tool", "args_hash", "result_hash", "status",
	"risk", "attestation", "previous_hash",
	"receipt_hash", "mac"}

// leads are what stands before each value.
var leads = func() (out [fieldCount][]byte) {
	before := `{"`
	for i, name := range fieldNames {
		out[i] = []byte(before + name + `":"`)
		before = `,"`
	}
	return out
}()

// canonical are the fields that the hash is over, in the order of RFC 8785: by name.
var canonical = []int{fArgs, fAttestation, fConversation, fID, fPrevious, fResult, fRisk, fStatus, fTimestamp, fTool}

// line is a receipt as its bytes.
type line [fieldCount][]byte

// scan takes a line apart that is, byte for byte, as it is written: one spelling for each receipt, so that a changed
// blank, a moved field and a doubled name are as wrong as a changed value.
func (l *line) scan(raw []byte) error {
	rest := raw
	for i := range fieldCount {
		l[i] = nil
		if i == fMac && len(rest) == 1 {
			break
		}
		if i == fAttestation && !bytes.HasPrefix(rest, leads[i]) {
			continue
		}
		if !bytes.HasPrefix(rest, leads[i]) {
			return explain(raw, i)
		}
		rest = rest[len(leads[i]):]
		end := bytes.IndexByte(rest, '"')
		if end < 0 || !isPlain(rest[:end]) {
			return explain(raw, i)
		}
		l[i], rest = rest[:end], rest[end+1:]
	}
	if len(rest) != 1 || rest[0] != '}' {
		return explain(raw, fieldCount)
	}
	return l.check()
}

// explain says what is wrong with a line that is not as receipts are written, up to the field at which this shows.
func explain(raw []byte, field int) error {
	var r Receipt
	if err := record.Decode(raw, &r); err != nil {
		return err
	}
	if field < fMac {
		return fmt.Errorf("not in canonical form, starting at %s", fieldNames[field])
	}
	return errors.New("not in canonical form")
}

// check refuses a value that no receipt has. What the hashes are, it does not check.
func (l *line) check() error {
	for _, f := range []int{fID, fTimestamp, fConversation, fTool} {
		if len(l[f]) > maxText {
			return fmt.Errorf("%s is longer than %d bytes", fieldNames[f], maxText)
		}
	}
	switch {
	case !isID(l[fID]):
		return errors.New(`id is not "receipt-" and a text without spaces`)
	case !isTime(l[fTimestamp]):
		return errors.New("timestamp is not an RFC 3339 time in UTC")
	case !isStatus(string(l[fStatus])):
		return errors.New("status is not allowed, denied or failed")
	case !isRisk(string(l[fRisk])):
		return errors.New("risk is not low, medium or high")
	case l[fAttestation] != nil && !isAttestation(l[fAttestation]):
		return errors.New("attestation is not the name of a key, unattested or recovered")
	case !isHash(l[fArgs]) || !isHash(l[fResult]) || !isHash(l[fPrevious]) || !isHash(l[fHash]) || l[fMac] != nil &&
		!isHash(l[fMac]):
		return errors.New("a hash is not a SHA-256 in lower-case hex")
	}
	return nil
}

// sum computes the hash of the receipt in lower-case hex into out. buf is memory for the canonical form, and is
// returned.
func (l *line) sum(out *[64]byte, buf []byte) []byte {
	buf = append(buf[:0], '{')
	for i, f := range canonical {
		if l[f] == nil {
			continue
		}
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(append(buf, '"'), fieldNames[f]...)
		buf = append(append(append(buf, `":"`...), l[f]...), '"')
	}
	buf = append(buf, '}')
	sum := sha256.Sum256(buf)
	hex.Encode(out[:], sum[:])
	return buf
}

// receipt is the line as texts.
func (l *line) receipt() Receipt {
	return Receipt{ID: string(l[fID]), Timestamp: string(l[fTimestamp]), ConversationID: string(l[fConversation]),
		Tool:     string(l[fTool]),
		ArgsHash: string(l[fArgs]), ResultHash: string(l[fResult]), Status: string(l[fStatus]), Risk: string(l[fRisk]),
		Attestation:  string(l[fAttestation]),
		PreviousHash: string(l[fPrevious]), ReceiptHash: string(l[fHash]), MAC: string(l[fMac])}
}

// lineOf is the receipt as its bytes.
func lineOf(r Receipt) (l line) {
	for i, s := range []string{r.ID, r.Timestamp, r.ConversationID, r.Tool, r.ArgsHash, r.ResultHash,
		r.Status, r.Risk, r.Attestation, r.PreviousHash, r.ReceiptHash, r.MAC} {
		if l[i] = []byte(s); (i == fMac || i == fAttestation) && s == "" {
			l[i] = nil
		}
	}
	return l
}

// encode writes the line.
func (l *line) encode() []byte {
	out := make([]byte, 0, 800)
	for i, v := range l {
		if v == nil {
			continue
		}
		out = append(append(append(out, leads[i]...), v...), '"')
	}
	return append(out, '}')
}

// Parse reads one line of a log, given without its newline: exactly as it was written, with the hash of its content. It
// does not check its place in the chain.
func Parse(raw []byte) (Receipt, error) {
	var l line
	if err := l.scan(raw); err != nil {
		return Receipt{}, err
	}
	var h [64]byte
	if l.sum(&h, nil); !bytes.Equal(h[:], l[fHash]) {
		return Receipt{}, errContent
	}
	return l.receipt(), nil
}

var errContent = errors.New("receipt_hash is not the hash of its content")

// torn tells whether a line is the beginning, and not all, of a receipt: what a process leaves that dies in the middle
// of a write. Only a brace is missing at most, and a receipt holds no other brace, so one changed byte never makes a
// whole receipt look torn.
//
// A power cut may leave zeros where bytes should be: they count as not written.
func torn(raw []byte) bool {
	if written := bytes.TrimRight(raw, "\x00"); len(written) < len(raw) {
		return len(written) == 0 || torn(written)
	}
	if len(raw) == 0 || len(raw) >= maxLineBytes {
		return false
	}
	for i := range leads {
		if len(raw) <= len(leads[i]) && bytes.HasPrefix(leads[i], raw) {
			return true
		}
		if len(raw) <= len(leads[i]) && i != fAttestation {
			return i == fMac && len(raw) == 0
		}
		if i == fAttestation && !bytes.HasPrefix(raw, leads[i]) {
			continue
		}
		if !bytes.HasPrefix(raw, leads[i]) {
			return false
		}
		value, rest, ended := bytes.Cut(raw[len(leads[i]):], []byte{'"'})
		if !isPlain(value) || !ended {
			return isPlain(value)
		}
		raw = rest
	}
	return len(raw) == 0
}

// What a byte is not. A table has no branches that are guessed wrongly: half of the time of Verify went into these.
const (
	notPlain = 1 << iota
	notHex
)

var classes = func() (out [256]byte) {
	for c := range out {
		if c < ' ' || c > '~' || c == '\\' || c == '{' || c == '}' {
			out[c] |= notPlain
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			out[c] |= notHex
		}
	}
	return out
}()

// class is what some byte of a text is not.
func class(text []byte) (all byte) {
	for _, c := range text {
		all |= classes[c]
	}
	return all
}

// isPlain tells whether a value is as ascii makes them.
func isPlain(value []byte) bool { return class(value)&notPlain == 0 }

func isID(b []byte) bool {
	return len(b) > len(idPrefix) && string(b[:len(idPrefix)]) == idPrefix && bytes.IndexByte(b, ' ') < 0
}

func isRisk(s string) bool {
	return s == record.RiskLow || s == record.RiskMedium || s == record.RiskHigh
}

func isStatus(s string) bool {
	return s == record.StatusAllowed || s == record.StatusDenied || s == record.StatusFailed
}

// isTime tells whether b is a time like 2026-05-12T14:00:00Z, with or without a fraction of the second, as far as a
// pattern can tell.
func isTime(b []byte) bool {
	const pattern = "0000-00-00T00:00:00"
	if len(b) <= len(pattern) || len(b) > len(pattern)+11 || b[len(b)-1] != 'Z' {
		return false
	}
	for i, c := range b[:len(b)-1] {
		digit := c-'0' <= 9
		switch {
		case i < len(pattern) && pattern[i] == '0', i > len(pattern):
			if !digit {
				return false
			}
		case i == len(pattern):
			if c != '.' || len(b) == len(pattern)+2 {
				return false
			}
		case c != pattern[i]:
			return false
		}
	}
	return string(b[5:7]) <= "12" && string(b[8:10]) <= "31" && string(b[11:13]) <= "23" && string(b[14:16]) <= "59" &&
		string(b[17:19]) <= "60" &&
		string(b[5:7]) > "00" && string(b[8:10]) > "00"
}

// isAttestation tells whether a text is the name of an executor's key, or one of the other two values.
func isAttestation(b []byte) bool {
	return string(b) == Unattested || string(b) == Recovered || len(b) == 16 && class(b)&notHex == 0
}

func isHash(b []byte) bool { return len(b) == 64 && class(b)&notHex == 0 }

// maxText bounds a text that comes from outside: the name of a tool is the model's choice.
const maxText = 200

// ascii returns a text as printable ASCII without quotes, backslashes and braces: these, other characters and % itself
// become %XX, and a long text its beginning, "%..." and its hash. Different texts stay different: in the short form no
// % is followed by a dot.
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
