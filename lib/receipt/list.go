package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"clawsh/lib/record"
)

// Filter chooses receipts; empty fields match all. Conversation is an id or its beginning; Since and Until are in
// record.TimeFormat, the first included, the last not.
type Filter struct {
	Conversation, Tool, Status, Risk, Since, Until string
}

// Match tells whether the filter chooses a receipt.
func (f Filter) Match(r Receipt) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return strings.HasPrefix(r.ConversationID, f.Conversation) && is(f.Tool, r.Tool) && is(f.Status, r.Status) &&
		is(f.Risk, r.Risk) &&
		(f.Since == "" || r.Timestamp >= f.Since) && (f.Until == "" || r.Timestamp < f.Until)
}

// List gives each receipt that the filter chooses to use, oldest first, with its number as Verify counts, and returns
// how many lines are no receipts. It does not check the chain: Verify does. An error of use ends it, and is returned.
func List(r io.Reader, f Filter, use func(number int, r Receipt) error) (unreadable int, err error) {
	n := 0
	var useErr error
	err = each(r, func(raw []byte, ended bool) error {
		if !ended && torn(raw) {
			return nil
		}
		n++
		var x Receipt
		if record.Decode(raw, &x) != nil {
			unreadable++
			return nil
		}
		if f.Match(x) {
			useErr = use(n, x)
		}
		return useErr
	})
	if err != nil && useErr == nil {
		err = fmt.Errorf("read the receipts: %w", err)
	}
	return unreadable, err
}

// Find returns the receipt with this id, or the only one whose id starts like it, and its number as Verify counts.
// Errors: ErrNotFound; several that start like it. It does not check the chain. With keys and a Source it goes by the
// tiles of the log, if there are any, or it makes them; proven tells then that the receipt is one that was verified.
func Find(r io.Reader, id string, k *Keys) (found Receipt, number int, proven bool, err error) {
	proven, err = byTiles(r, Trust{Keys: k}, func(w *view) (err error) {
		if !w.v.report.Valid {
			return errTiles
		}
		found, number, err = w.find(id)
		return err
	})
	if proven || err != nil {
		return found, number, proven, err
	}
	m := match{id: id}
	_, err = List(r, Filter{}, func(n int, x Receipt) error {
		if m.receipt(n, x) {
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return Receipt{}, 0, false, err
	}
	found, number, err = m.result()
	return found, number, false, err
}

// ListLast is List of the last receipts that the filter chooses, at most n of them, the oldest first. It reads from the
// end and no further than it must: lines before that are not looked at.
func ListLast(src *Source, f Filter, n int) (list []Receipt, unreadable int, err error) {
	list = []Receipt{}
	err = backwards(src, func(raw []byte, last bool) error {
		var x Receipt
		switch {
		case last && torn(raw):
		case record.Decode(raw, &x) != nil:
			unreadable++
		case f.Match(x):
			if list = append(list, x); len(list) >= n {
				return errStop
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return nil, 0, fmt.Errorf("read the receipts: %w", err)
	}
	slices.Reverse(list)
	return list, unreadable, nil
}

// backwards gives each line to use, the last one first; last tells that it has no newline behind it. Of a line that is
// longer than any receipt, it gives pieces.
func backwards(src *Source, use func(raw []byte, last bool) error) error {
	const piece = 64 << 10
	end, err := src.Size()
	if err != nil {
		return err
	}
	var rest []byte // the end of a line that begins before it
	last := true
	for end > 0 {
		from := max(end-piece, 0)
		buf := make([]byte, end-from, end-from+int64(len(rest)))
		if err := src.seek(from); err != nil {
			return err
		}
		if _, err := io.ReadFull(src, buf); err != nil {
			return err
		}
		buf = append(buf, rest...)
		for {
			at := bytes.LastIndexByte(buf, '\n')
			if at < 0 {
				break
			}
			if raw := buf[at+1:]; !last || len(raw) > 0 {
				if err := use(raw[:min(len(raw), maxLineBytes)], last); err != nil {
					return err
				}
			}
			buf, last = buf[:at], false
		}
		rest, end = buf, from
		if len(rest) > 2*piece { // no receipt: it counts once
			rest = rest[:maxLineBytes]
		}
	}
	if last && len(rest) == 0 {
		return nil
	}
	return use(rest[:min(len(rest), maxLineBytes)], last)
}
