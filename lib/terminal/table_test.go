package terminal

import (
	"strings"
	"testing"
)

// TestTable: columns line up, and no cell can end its line, begin a column or colour the terminal.
func TestTable(t *testing.T) {
	var table Table
	table.Row("calls", "was", "now")
	table.Row(7, "a\tb", "\x1b[31mc")
	table.Row("", "d\ne", "")
	var b strings.Builder
	want := "calls  was   now\n7      a\\tb  \\x1b[31mc\n       d\\ne  \n"
	if err := table.Write(&b); err != nil || b.String() != want {
		t.Errorf("%q, %v, want %q", b.String(), err, want)
	}
	b.Reset()
	if err := new(Table).Write(&b); err != nil || b.String() != "" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
