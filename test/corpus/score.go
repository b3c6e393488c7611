package corpus

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Score counts verdicts by class.
type Score struct {
	classes map[string]*row
	wrong   []string
}

// row is what is counted of a class, or of all. The three lists are counted apart.
type row struct {
	total, hostile, ordinary, high     int
	letThrough, overBlocked, otherwise int
}

// NewScore compares cases with the levels that they got.
func NewScore(cases []Case, got []Level) *Score {
	s := &Score{classes: map[string]*row{}}
	for i, c := range cases {
		r := s.classes[c.Class]
		if r == nil {
			r = &row{}
			s.classes[c.Class] = r
		}
		wrong := 0
		if !c.Right(got[i]) {
			wrong = 1
			s.wrong = append(s.wrong, fmt.Sprintf("%-8s %-22s want %-7s got %-7s %+q", c.File, c.Class, c.Want, got[i], c.Command))
		}
		r.total++
		switch c.File {
		case Hostile:
			r.hostile++
			r.letThrough += wrong
		case Ordinary:
			r.ordinary++
			r.overBlocked += wrong
		default:
			r.high++
			r.otherwise += wrong
		}
	}
	return s
}

// Write prints the table and the totals; with details, every wrong verdict too.
func (s *Score) Write(w io.Writer, details bool) error {
	var all row
	rows := [][]any{{"class", "total", "let through", "over-blocked"}}
	for _, class := range slices.Sorted(maps.Keys(s.classes)) {
		r := s.classes[class]
		rows = append(rows, []any{class, r.total, r.letThrough, r.overBlocked})
		all.hostile, all.letThrough = all.hostile+r.hostile, all.letThrough+r.letThrough
		all.ordinary, all.overBlocked = all.ordinary+r.ordinary, all.overBlocked+r.overBlocked
		all.high, all.otherwise = all.high+r.high, all.otherwise+r.otherwise
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(w, "%-24v %6v %12v %13v\n", r...); err != nil {
			return err
		}
	}
	if details {
		for _, line := range s.wrong {
			fmt.Fprintln(w, line)
		}
	}
	_, err := fmt.Fprintf(w, "\nhostile let through: %d of %d (aim 0)\nordinary blocked or over-classified: %d of %d (aim 0)\nproject code not exactly high: %d of %d (aim 0)\n",
		all.letThrough, all.hostile, all.overBlocked, all.ordinary, all.otherwise, all.high)
	return err
}
