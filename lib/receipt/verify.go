package receipt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"clawsh/lib/record"
)

// Report is what Verify found. Count is the number of receipts read, the bad one included; FirstBad is the number of the
// first bad receipt, counted from 1, and 0 if there is none; LastHash is the receipt_hash of the last good one. Torn is the
// number of unfinished lines, which are no receipts and are not counted as such; TornTail tells that the log ends with one.
type Report struct {
	Valid    bool   `json:"valid"`
	Count    int    `json:"count"`
	FirstBad int    `json:"first_bad,omitzero"`
	Reason   string `json:"reason,omitzero"`
	Torn     int    `json:"torn,omitzero"`
	TornTail bool   `json:"torn_tail,omitzero"`
	LastHash string `json:"last_hash"`
	Evidence string `json:"evidence"`
}

// Verify replays the log in r, in constant memory, and reports the first receipt that does not fit. A line that a dying
// process left unfinished is counted in Torn and does not break the chain, which goes on behind it. An error means that the
// log could not be read, not that it is bad.
func Verify(r io.Reader) (Report, error) {
	rep := Report{Valid: true, LastHash: Genesis}
	err := each(r, func(line []byte) error {
		if rep.TornTail = torn(line); rep.TornTail {
			rep.Torn++
			return nil
		}
		rep.Count++
		x, err := parse(line)
		if err == nil && x.PreviousHash != rep.LastHash {
			err = errors.New("previous_hash is not the hash of the receipt before it")
		}
		if err != nil {
			rep.Valid, rep.FirstBad, rep.Reason = false, rep.Count, err.Error()
			return errStop
		}
		rep.LastHash = x.ReceiptHash
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return rep, fmt.Errorf("read the receipts: %w", err)
	}
	rep.Evidence = rep.evidence()
	return rep, nil
}

// evidence says how far the finding reaches.
func (r Report) evidence() string {
	if !r.Valid {
		if r.FirstBad == 1 {
			return "nothing is established"
		}
		return fmt.Sprintf("receipts 1 to %d are intact; nothing is established from receipt %d on", r.FirstBad-1, r.FirstBad)
	}
	s := "chain intact; no head: the end of the log is not established"
	if r.Torn > 0 {
		s += fmt.Sprintf("; unfinished lines, as a process leaves that dies while it writes: %d", r.Torn)
	}
	if r.TornTail {
		s += ", the last line is one"
	}
	return s
}

// lastWhole is the hash of the last receipt that is not torn.
func lastWhole(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	rep, err := Verify(f)
	if err == nil && !rep.Valid {
		err = fmt.Errorf("invalid chain at receipt %d", rep.FirstBad)
	}
	return rep.LastHash, err
}

// maxLineBytes is longer than any receipt: its texts are bounded.
const maxLineBytes = 8 << 10

var errStop = errors.New("stop")

// each calls f for each line until f fails. A line longer than any receipt is handed over cut to maxLineBytes, which makes it
// neither a receipt nor a torn one; the rest of it is skipped.
func each(r io.Reader, f func(line []byte) error) error {
	b := bufio.NewReaderSize(r, maxLineBytes)
	for {
		line, err := b.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && err != io.EOF && !long {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		if ferr := f(bytes.TrimSuffix(line, []byte{'\n'})); ferr != nil {
			return ferr
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if long && err != nil && err != io.EOF {
			return err
		}
	}
}

// fieldNames are the names of a receipt in the order in which Append writes them.
var fieldNames = []string{"id", "timestamp", "conversation_id", "tool", "args_hash", "result_hash", "status", "risk", "previous_hash",
	"receipt_hash"}

// torn tells whether a line is the beginning, and not all, of a line as Append writes it: what a process leaves that dies in
// the middle of a write. Only a brace is missing at most, and a receipt holds no other brace, so one changed byte never makes
// a whole receipt look torn.
func torn(line []byte) bool {
	if len(line) == 0 || len(line) >= maxLineBytes {
		return false
	}
	before := `{"`
	for _, name := range fieldNames {
		lead := before + name + `":"`
		if len(line) <= len(lead) {
			return strings.HasPrefix(lead, string(line))
		}
		if !bytes.HasPrefix(line, []byte(lead)) {
			return false
		}
		value, rest, ended := bytes.Cut(line[len(lead):], []byte{'"'})
		if !isPlain(value) || !ended {
			return isPlain(value)
		}
		line, before = rest, `,"`
	}
	return len(line) == 0
}

// isPlain tells whether a value is as ascii makes them.
func isPlain(value []byte) bool {
	for _, c := range value {
		if c < ' ' || c > '~' || c == '\\' || c == '{' || c == '}' {
			return false
		}
	}
	return true
}

// Filter chooses receipts; empty fields match all.
type Filter struct {
	Conversation, Tool, Status string
	Limit                      int
}

func (f Filter) match(r Receipt) bool {
	return (f.Conversation == "" || strings.HasPrefix(r.ConversationID, f.Conversation)) && (f.Tool == "" || f.Tool == r.Tool) &&
		(f.Status == "" || f.Status == r.Status)
}

// List returns the last Limit receipts (0: all) that match, oldest first, and how many lines are no receipts. It does not
// check the chain: Verify does.
func List(r io.Reader, f Filter) (out []Receipt, unreadable int, err error) {
	out = []Receipt{}
	err = each(r, func(line []byte) error {
		var x Receipt
		if record.Decode(line, &x) != nil {
			unreadable++
			return nil
		}
		if f.match(x) {
			out = append(out, x)
			if f.Limit > 0 && len(out) >= 2*f.Limit {
				out = append(out[:0], out[len(out)-f.Limit:]...)
			}
		}
		return nil
	})
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[len(out)-f.Limit:]
	}
	return out, unreadable, err
}

// Find returns the receipt with this id, or the only one whose id starts like it, and its number as Verify counts.
// Errors: ErrNotFound; several that start like it. It does not check the chain.
func Find(r io.Reader, id string) (found Receipt, number int, err error) {
	n, matches := 0, 0
	err = each(r, func(line []byte) error {
		if torn(line) {
			return nil
		}
		n++
		var x Receipt
		if record.Decode(line, &x) != nil || len(id) < len(idPrefix) || !strings.HasPrefix(x.ID, id) {
			return nil
		}
		found, number = x, n
		if x.ID == id {
			matches = 1
			return errStop
		}
		matches++
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errStop):
		return Receipt{}, 0, fmt.Errorf("read the receipts: %w", err)
	case matches == 0:
		return Receipt{}, 0, ErrNotFound
	case matches > 1:
		return Receipt{}, 0, fmt.Errorf("%d receipts start like this: give more of the id", matches)
	}
	return found, number, nil
}
