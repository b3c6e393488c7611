package turn

import (
	"errors"
	"strconv"
	"time"
)

// Seconds is a duration as people write it: 90s, 5m, or a bare number of seconds.
type Seconds time.Duration

// String implements pflag.Value, and fmt.Stringer for its value.
func (s Seconds) String() string { return time.Duration(s).String() }

// Type implements pflag.Value.
func (*Seconds) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *Seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		n, bad := strconv.ParseFloat(text, 64)
		if bad != nil || !(n >= 0 && n < 1e9) {
			return errors.New("want a duration such as 90s, 5m or 1h30m")
		}
		d = time.Duration(n * float64(time.Second))
	}
	*s = Seconds(d)
	return nil
}
