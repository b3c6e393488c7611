package record

import (
	"errors"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	now := time.Date(2026, 5, 12, 14, 0, 0, 0, time.FixedZone("CEST", 7200))
	for _, c := range []struct{ since, until, from, to string }{
		{"", "", "", ""},
		{"2026-05-12T14:00:00Z", "2026-05-12T16:00:00+02:00", "2026-05-12T14:00:00.000Z", "2026-05-12T14:00:00.000Z"},
		{"2026-05-12", "2026-05-12", "2026-05-11T22:00:00.000Z", "2026-05-12T22:00:00.000Z"},
		{"90m", "2w", "2026-05-12T10:30:00.000Z", "2026-04-28T12:00:00.000Z"},
		{"24h", "7d", "2026-05-11T12:00:00.000Z", "2026-05-05T12:00:00.000Z"},
	} {
		from, to, err := Span(c.since, c.until, now)
		if err != nil || from != c.from || to != c.to {
			t.Errorf("%q to %q: %q to %q, %v", c.since, c.until, from, to, err)
		}
	}
	for _, bad := range []string{"yesterday", "7", "d", "-1d", "7s", "99999999w", "2026-13-01", "2026-05-12 14:00",
		"1.5h"} {
		if _, _, err := Span(bad, "", now); !errors.Is(err, ErrTime) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
