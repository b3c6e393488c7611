package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table is rows whose columns line up. Every cell is escaped, so that none can be taken for another, or hide one.
type Table struct{ rows []string }

// Row adds a row.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Escape(fmt.Sprint(c))
	}
	t.rows = append(t.rows, strings.Join(row, "\t"))
}

// Write writes all rows, a line each.
func (t *Table) Write(w io.Writer) error {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range t.rows {
		fmt.Fprintln(lines, r)
	}
	return lines.Flush()
}
