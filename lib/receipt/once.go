package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// fresh is how long the decision about a call may be behind it for a result to be looked for near the end of the log
// only: no longer than a permit is good.
const fresh = time.Minute

// skew is by how much receipts may stand before others that are older: they get their time before they wait for the
// lock.
const skew = 5 * time.Second

// decidedAt is the time in the id of a decision (UUIDv7), so that it does not depend on what else the verdict says.
func decidedAt(id string) (time.Time, bool) {
	digits := strings.ReplaceAll(strings.TrimPrefix(id, idPrefix), "-", "")
	if len(digits) < 16 {
		return time.Time{}, false
	}
	ms, err := strconv.ParseUint(digits[:12], 16, 48)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(ms)).UTC(), true
}

// find returns the receipt with an id that the time of a decision, or of a seal, is part of; nil if there is none. It
// can only be behind that time: of a fresh one, the end of the log is read, else all of it, as bytes: a result that
// comes late must not hold up the others. The log is locked.
func (l *Log) find(e *durable.End, id string, all bool) (*Receipt, error) {
	since := "" // nothing is older
	decided, ok := decidedAt(id)
	if age := time.Since(decided); ok && !all && age <= fresh && age >= -skew {
		since = decided.Add(-skew).Format(record.TimeFormat)
	}
	found, done, err := searchBack(e, e.Size, id, since)
	if found != nil || done || err != nil {
		return found, err
	}
	parts, err := countParts(l.path)
	if err != nil {
		return nil, err
	}
	for ; parts > 0; parts-- {
		f, err := openPart(partPath(l.path, parts-1))
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err == nil {
			found, done, err = searchBack(f, info.Size(), id, since)
		}
		if err = errors.Join(err, f.Close()); found != nil || done || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// searchBack looks for a receipt with the id, from the end on, until all in a piece are older than since, if that is
// not empty: done.
func searchBack(r io.ReaderAt, size int64, id, since string) (found *Receipt, done bool, err error) {
	const piece = 32 << 10
	buf := make([]byte, piece+maxLineBytes)
	start := bytes.Join([][]byte{leads[fID], []byte(id), []byte(`"`)}, nil)
	for end := size; end > 0; end -= piece {
		from := max(end-piece, 0)
		// and the rest of a line that began before the end
		n, err := r.ReadAt(buf[:min(end+maxLineBytes, size)-from], from)
		if err != nil && err != io.EOF {
			return nil, false, fmt.Errorf("look for receipt %s: %w", id, err)
		}
		if at := bytes.Index(buf[:n], start); at >= 0 {
			raw, _, _ := bytes.Cut(buf[at:n], []byte{'\n'})
			r, err := Parse(raw)
			if err != nil {
				r = Receipt{ID: id} // it is in the way, whatever it says: Verify names it
			}
			return &r, true, nil
		}
		if since != "" && older(buf[:n], since) {
			return nil, true, nil
		}
	}
	return nil, false, nil
}

// older tells whether there are receipts among the bytes and all are older than since.
func older(b []byte, since string) bool {
	seen := false
	for {
		_, rest, ok := bytes.Cut(b, leads[fTimestamp])
		if !ok {
			return seen
		}
		at, _, _ := bytes.Cut(rest, []byte{'"'})
		if string(at) >= since {
			return false
		}
		seen, b = true, rest
	}
}
