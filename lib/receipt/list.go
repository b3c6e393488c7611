package receipt

import (
	"errors"
	"fmt"
	"io"
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
	return strings.HasPrefix(r.ConversationID, f.Conversation) && is(f.Tool, r.Tool) && is(f.Status, r.Status) && is(f.Risk, r.Risk) &&
		(f.Since == "" || r.Timestamp >= f.Since) && (f.Until == "" || r.Timestamp < f.Until)
}

// List gives each receipt that the filter chooses to use, oldest first, with its number as Verify counts, and returns how many
// lines are no receipts. It does not check the chain: Verify does. An error of use ends it, and is returned.
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
// Errors: ErrNotFound; several that start like it. It does not check the chain.
func Find(r io.Reader, id string) (found Receipt, number int, err error) {
	matches := 0
	_, err = List(r, Filter{}, func(n int, x Receipt) error {
		if len(id) <= len(idPrefix) || !strings.HasPrefix(x.ID, id) {
			return nil
		}
		found, number = x, n
		if matches++; x.ID == id {
			matches = 1
			return errStop
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errStop):
		return Receipt{}, 0, err
	case matches == 0:
		return Receipt{}, 0, ErrNotFound
	case matches > 1:
		return Receipt{}, 0, fmt.Errorf("%d receipts start like this: give more of the id", matches)
	}
	return found, number, nil
}
