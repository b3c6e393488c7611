package terminal

import (
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/sys/unix"
)

// The size of a terminal that does not tell its own, and what is no size at all.
const (
	usualRows, usualColumns = 24, 80
	absurd                  = 1000
)

// Size returns the rows and columns of the controlling terminal, 24 and 80 if there is none, or it does not say.
func Size() (rows, columns int) {
	fd, err := unix.Open(ttyPath, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return usualRows, usualColumns
	}
	defer unix.Close(fd)
	ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return usualRows, usualColumns
	}
	return sensible(int(ws.Row), int(ws.Col))
}

// sensible is a size as it is told, or the usual one: a window larger than any screen would hide that a text scrolls
// off it.
func sensible(rows, columns int) (int, int) {
	if rows <= 0 || rows > absurd {
		rows = usualRows
	}
	if columns <= 0 || columns > absurd {
		columns = usualColumns
	}
	return rows, columns
}

// Rows returns how many rows a text takes on a screen with that many columns. Colour sequences take no space.
func Rows(text string, columns int) int {
	n := 0
	for line := range strings.Lines(text) {
		n += lineRows(strings.TrimSuffix(line, "\n"), columns)
	}
	return n
}

// tabStop is how far apart the stops of a terminal's tabs are.
const tabStop = 8

func lineRows(line string, columns int) int {
	rows, at := 1, 0
	for g := uniseg.NewGraphemes(withoutColours(line)); g.Next(); {
		width := g.Width()
		if g.Str() == "\t" { // at the edge terminals differ: rather one row too many than one too few
			width = tabStop - at%tabStop
		}
		if at+width > columns { // a wide character is not cut in two: its whole is on the next row
			rows, at = rows+1, 0
		}
		at += width
	}
	return rows
}

// withoutColours takes the sequences ESC [ … m out of a line.
func withoutColours(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, line, _ = strings.Cut(rest, "m")
	}
}
