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

// FitMiddle cuts a text of one line to so many columns, as Fit does, but in its middle: its beginning and its end stay.
func FitMiddle(s string, columns int) string {
	if columns < 3 || len(s) <= columns || Columns(s) <= columns {
		return Fit(s, columns)
	}
	head := Fit(s, columns/2+1)
	tail, over := s, Columns(s)-(columns-Columns(head))
	for g := uniseg.NewGraphemes(s); over > 0 && g.Next(); {
		over -= g.Width()
		_, end := g.Positions()
		tail = s[end:]
	}
	return head + tail
}
