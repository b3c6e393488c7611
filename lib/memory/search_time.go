package memory

import (
	"time"

	"clawsh/lib/record"
)

// ErrTime says that a text names no point in time.
var ErrTime = record.ErrTime

// ParseTime reads a point in time (record.ParseTime); with end, a date is the last millisecond of that day.
func ParseTime(text string, now time.Time, end bool) (time.Time, error) {
	t, day, err := record.ParseTime(text, now)
	if day && end {
		t = t.AddDate(0, 0, 1).Add(-time.Millisecond)
	}
	return t, err
}
