package terminal

import (
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    int
	}{
		{"", 80, 0}, {"\n", 80, 1}, {"a", 80, 1}, {"a\nb\n", 80, 2}, {"\n\n\n", 80, 3},
		{strings.Repeat("x", 80), 80, 1}, {strings.Repeat("x", 81), 80, 2}, {strings.Repeat("x", 81), 30, 3},
		{strings.Repeat("界", 40), 80, 1}, {strings.Repeat("界", 41), 80, 2}, {strings.Repeat("界", 3), 3, 3},
		{strings.Repeat("é", 80), 80, 1},
		{strings.Repeat("e\u0301", 80), 80, 1}, {strings.Repeat("\t", 10), 80, 1}, {strings.Repeat("\t", 21), 80, 3},
		{strings.Repeat("x\t", 10) + "x", 80, 2},
		{"\x1b[32m" + strings.Repeat("x", 80) + "\x1b[0m\n", 80, 1}, {"界", 1, 2},
	} {
		if got := Rows(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %d rows, want %d", c.text, c.columns, got, c.want)
		}
	}
}

func TestSizesThatAreNone(t *testing.T) {
	for in, want := range map[[2]int][2]int{{10, 80}: {10, 80}, {24, 30}: {24, 30}, {0, 0}: {24, 80},
		{65535, 65535}: {24, 80}, {3, 0}: {3, 80}, {-1, 5}: {24, 5}} {
		if r, c := sensible(in[0], in[1]); [2]int{r, c} != want {
			t.Errorf("%v: %d, %d", in, r, c)
		}
	}
}
