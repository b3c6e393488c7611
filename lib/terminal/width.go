package terminal

import (
	"github.com/rivo/uniseg"
)

// Columns is how many columns of a terminal the text takes, which has no control characters.
func Columns(s string) int { return uniseg.StringWidth(s) }

// Fit cuts a text of one line to so many columns, at the edge of a character as people see it; an ellipsis says so.
func Fit(s string, columns int) string {
	if len(s) <= columns || Columns(s) <= columns {
		return s
	}
	used, end := 0, 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > columns-1 {
			break
		}
		_, end = g.Positions()
	}
	return s[:end] + "…"
}
