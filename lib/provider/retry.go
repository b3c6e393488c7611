package provider

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxRetryAfter = 60 * time.Second
	firstBackoff  = 500 * time.Millisecond
)

// retryAfter reads the header: seconds, or a date (RFC 9110, 10.2.3); at most a year; -1 if it says nothing.
func retryAfter(h string, now time.Time) time.Duration {
	const most = 365 * 24 * time.Hour
	h = strings.TrimSpace(h)
	if n, err := strconv.ParseFloat(h, 64); err == nil && n >= 0 {
		return time.Duration(min(n, most.Seconds()) * float64(time.Second))
	}
	if t, err := http.ParseTime(h); err == nil {
		return min(max(t.Sub(now), 0), most)
	}
	return -1
}

// wantsToWait refuses to wait longer than a person would expect: the error says how long the server wants.
func (e *Error) wantsToWait() {
	if e.retryAfter <= maxRetryAfter || !e.again() {
		return
	}
	e.final = true
	e.Message += "; the server asks clients to wait " + e.retryAfter.Round(time.Second).String()
	e.Hint = "clawsh does not wait that long: try again later, or fall back to another provider with kind = \"reliable\""
}

// backoff returns the pause before the next attempt: what the server asked for, otherwise half a second, doubled each
// time, plus or minus half of it, so that many clients do not return at once.
func backoff(try int, asked time.Duration) time.Duration {
	if asked >= 0 {
		return asked
	}
	d := min(firstBackoff<<min(try, 10), maxRetryAfter)
	return d/2 + rand.N(d)
}
