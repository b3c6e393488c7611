package memory

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrTime says that a text names no point in time.
var ErrTime = errors.New("want RFC 3339 (2026-05-12T14:00:00Z), a date (2026-05-12) or how long ago (30m, 24h, 7d, 2w)")

// ParseTime reads a point in time: RFC 3339; a date, which is the beginning of that day in now's time zone, or with end its last
// millisecond; or how long before now, a whole number of minutes, hours, days of 24 hours or weeks.
func ParseTime(text string, now time.Time, end bool) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if end {
			return t.AddDate(0, 0, 1).Add(-time.Millisecond), nil
		}
		return t, nil
	}
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if n := len(text); n > 1 {
		unit, count := units[text[n-1]], text[:n-1]
		if c, err := strconv.ParseUint(count, 10, 32); err == nil && unit > 0 && time.Duration(c) <= 100*365*24*time.Hour/unit {
			return now.Add(-time.Duration(c) * unit), nil
		}
	}
	return time.Time{}, fmt.Errorf("time %q: %w", text, ErrTime)
}
