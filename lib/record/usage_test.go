package record

import (
	"math"
	"testing"
)

func TestUsageDoesNotOverflow(t *testing.T) {
	huge := Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64 - 1}
	for _, c := range []struct {
		a, b, want Usage
		total      int64
	}{
		{Usage{1, 2}, Usage{3, 4}, Usage{4, 6}, 10},
		{huge, Usage{1, 1}, Usage{math.MaxInt64, math.MaxInt64}, math.MaxInt64},
		{huge, huge, Usage{math.MaxInt64, math.MaxInt64}, math.MaxInt64},
		{Usage{-5, 3}, Usage{2, -9}, Usage{2, 3}, 5},
	} {
		if got := c.a.Add(c.b); got != c.want || got.Total() != c.total {
			t.Errorf("%v and %v are %v, together %d", c.a, c.b, got, got.Total())
		}
	}
}
