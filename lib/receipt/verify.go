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

// Report is what Verify found. FirstBad is the number of the first bad receipt, counted from 1; 0 if there is none.
type Report struct {
	Valid    bool   `json:"valid"`
	Count    int    `json:"count"`
	FirstBad int    `json:"first_bad,omitzero"`
	Reason   string `json:"reason,omitzero"`
	Torn     int    `json:"torn,omitzero"`
	LastHash string `json:"last_hash"`
	Evidence string `json:"evidence"`
}

// maxLineBytes is longer than any receipt: its texts are bounded.
const maxLineBytes = 8 << 10

// torn tells whether a line is the beginning of a receipt that a dying process did not finish: it starts like one, and the
// closing brace, which occurs nowhere else in a receipt, is missing.
func torn(line []byte) bool {
	const start = `{"id":"receipt-`
	n := min(len(line), len(start))
	return n > 0 && string(line[:n]) == start[:n] && bytes.IndexByte(line, '}') < 0
}

// Verify replays the log in r, in constant memory, and reports the first receipt that does not fit. A line that a dying
// process left unfinished is counted in Torn and does not break the chain, which goes on behind it.
func Verify(r io.Reader) (Report, error) {
	rep := Report{Valid: true, LastHash: Genesis}
	err := each(r, func(line []byte) error {
		if torn(line) {
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
		s += fmt.Sprintf("; %d unfinished line(s), left by a process that died while it wrote", r.Torn)
	}
	return s
}

var errStop = errors.New("stop")

// each calls f for each line. A line longer than any receipt is cut, which no receipt survives.
func each(r io.Reader, f func(line []byte) error) error {
	b := bufio.NewReaderSize(r, maxLineBytes)
	for {
		line, err := b.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return f(line)
		case err == io.EOF && len(line) == 0:
			return nil
		case err == io.EOF:
			return f(line)
		case err != nil:
			return err
		}
		if err := f(line[:len(line)-1]); err != nil {
			return err
		}
	}
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

// Find returns the receipt with this id, or the only one whose id starts like it, and its number.
func Find(r io.Reader, id string) (Receipt, int, error) {
	var found []Receipt
	n, at := 0, 0
	err := each(r, func(line []byte) error {
		n++
		var x Receipt
		if record.Decode(line, &x) == nil && len(id) >= len("receipt-") && strings.HasPrefix(x.ID, id) {
			found = append(found, x)
			at = n
		}
		return nil
	})
	switch {
	case err != nil:
		return Receipt{}, 0, err
	case len(found) == 0:
		return Receipt{}, 0, ErrNotFound
	case len(found) > 1:
		return Receipt{}, 0, fmt.Errorf("%d receipts start like this: give more of the id", len(found))
	}
	return found[0], at, nil
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
