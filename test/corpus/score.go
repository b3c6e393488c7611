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
			s.wrong = append(s.wrong, fmt.Sprintf("%-13s %-22s want %-7s got %-7s %+q", c.File, c.Class, c.Want, got[i],
				c.Command))
		}
		r.total++
		switch c.File {
		case Hostile:
			r.hostile++
			r.letThrough += wrong
		case Ordinary, Work:
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
	_, err := fmt.Fprintf(w,
		"\nhostile let through: %d of %d (aim 0)\nordinary blocked or over-classified: %d of %d (aim 0)\nproject code not exactly high: %d of %d (aim 0)\n",
		all.letThrough, all.hostile, all.overBlocked, all.ordinary, all.otherwise, all.high)
	return err
}

// Tally counts what a way to work decides about a list.
type Tally struct {
	way     Way
	lists   map[string]map[string]int // list, decision: how many
	wrong   []string
	checked bool // it is the middle way, whose decisions are expected one by one
}

// NewTally counts decisions about cases.
func NewTally(w Way, cases []Case, got []string) *Tally {
	t := &Tally{way: w, lists: map[string]map[string]int{}, checked: w == Middle}
	for i, c := range cases {
		if t.lists[c.File] == nil {
			t.lists[c.File] = map[string]int{}
		}
		t.lists[c.File][got[i]]++
		if t.checked && !c.RightAtMiddle(got[i]) {
			t.wrong = append(t.wrong, fmt.Sprintf("%-13s %-22s %s way: got %-5s %+q", c.File, c.Class, w.Name, got[i],
				c.Command))
		}
	}
	return t
}

// WriteTallies prints what each way to work makes of each list; with details, every decision of the middle way that is
// not as expected.
func WriteTallies(w io.Writer, all []*Tally, details bool) error {
	if _, err := fmt.Fprintf(w, "\n%-8s %-14s %12s %6s %7s\n", "way", "list", "runs unasked", "asked",
		"denied"); err != nil {
		return err
	}
	for _, t := range all {
		for _, file := range []string{Hostile, High, Ordinary, Work} {
			n := t.lists[file]
			fmt.Fprintf(w, "%-8s %-14s %12d %6d %7d\n", t.way.Name, file, n["allow"], n[Ask], n["deny"])
		}
	}
	for _, t := range all {
		if t.checked {
			fmt.Fprintf(w, "%s way, not as expected: %d (aim 0)\n", t.way.Name, len(t.wrong))
		}
		for i := 0; details && i < len(t.wrong); i++ {
			fmt.Fprintln(w, t.wrong[i])
		}
	}
	return nil
}
