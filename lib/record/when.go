package record

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrTime means that a text is not a point in time.
var ErrTime = errors.New("want RFC 3339 (2026-05-12T14:00:00Z), a date (2026-05-12) or how long ago (30m, 24h, 7d, 2w)")

// ParseTime reads a point in time as people type it: RFC 3339; a date, which means the beginning of that day in now's
// time zone and sets day; or how long before now, in whole minutes, hours, days of 24 hours or weeks.
func ParseTime(text string, now time.Time) (t time.Time, day bool, err error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, false, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, true, nil
	}
	units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if n := len(text); n > 1 {
		unit, count := units[text[n-1]], text[:n-1]
		if c, err := strconv.ParseUint(count, 10, 32); err == nil && unit > 0 &&
			time.Duration(c) <= 100*365*24*time.Hour/unit {
			return now.Add(-time.Duration(c) * unit), false, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("time %q: %w", text, ErrTime)
}

// Span brings the bounds of a span of time, as people give them (ParseTime), into TimeFormat: since is included, until
// is not, but for a date, of which the whole day is. Empty is no bound.
func Span(since, until string, now time.Time) (from, to string, err error) {
	for _, b := range []struct {
		text string
		out  *string
		end  bool
	}{{since, &from, false}, {until, &to, true}} {
		if b.text == "" {
			continue
		}
		t, day, err := ParseTime(b.text, now)
		if err != nil {
			return "", "", err
		}
		if day && b.end {
			t = t.AddDate(0, 0, 1)
		}
		*b.out = t.UTC().Format(TimeFormat)
	}
	return from, to, nil
}
