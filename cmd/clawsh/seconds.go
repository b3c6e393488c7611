package main

import (
	"errors"
	"strconv"
	"time"
)

// seconds is a duration as people write it: 90s, 5m, or a bare number of seconds.
type seconds time.Duration

// String implements pflag.Value.
func (s *seconds) String() string { return time.Duration(*s).String() }

// Type implements pflag.Value.
func (*seconds) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		n, bad := strconv.ParseFloat(text, 64)
		if bad != nil || !(n >= 0 && n < 1e9) {
			return errors.New("want a duration such as 90s, 5m or 1h30m")
		}
		d = time.Duration(n * float64(time.Second))
	}
	*s = seconds(d)
	return nil
}
