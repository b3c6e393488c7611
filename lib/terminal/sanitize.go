// Package terminal is the one place where clawsh meets a person's terminal: it makes untrusted text safe to show, and asks
// questions on /dev/tty.
//
// Text from a model, a tool or a file may hold escape sequences that retitle the window, rewrite what was shown, or hide
// what is asked. Escape and Sanitize show every such character as what it is.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s on one line with every character visible: newlines, control and format characters (bidi, zero-width,
// tags, variation selectors), characters that show as nothing, blanks other than the space, private-use and unassigned
// characters and invalid UTF-8 become escapes such as \n, \x1b, \u202e or \xff, and a backslash becomes two. So no two
// texts have the same Escape. An invalid byte is \x80 to \xff, a character beyond ASCII always \u or \U.
func Escape(s string) string { return escape(s, false) }

// Sanitize is Escape for text of several lines that people read: newlines, tabs, backslashes and the blanks of other scripts
// stay. A carriage return before a newline is dropped. The result is safe to show, but not unambiguous.
func Sanitize(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	if plain(s, lines) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case lines && (r == '\n' || r == '\t' || r == '\\'):
			b.WriteByte(byte(r))
		case lines && r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			writeVisible(&b, r, lines)
		}
		i += size
	}
	return b.String()
}

// plain tells quickly that there is nothing to escape.
func plain(s string, lines bool) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x7f || c < ' ' && !(lines && (c == '\n' || c == '\t')) || c == '\\' && !lines {
			return false
		}
	}
	return true
}

func writeVisible(b *strings.Builder, r rune, blanks bool) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\\':
		b.WriteString(`\\`)
	case visible(r) || blanks && unicode.Is(unicode.Zs, r):
		b.WriteRune(r)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// unseen are characters that Unicode counts as letters, marks or symbols, although they show as nothing, or change what is
// beside them.
var unseen = []*unicode.RangeTable{unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}} // the empty Braille pattern

// visible tells whether a terminal shows the character, as itself and in its place.
func visible(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.IsPrint(r) && !unicode.In(r, unseen...)
}

// NewSanitizer returns a writer that passes Sanitize of what it gets on to w. A character that is split between two writes
// is held back until it is whole, and a carriage return until it is known whether a newline follows: at most three bytes.
func NewSanitizer(w io.Writer) io.Writer { return &sanitizer{w: w} }

type sanitizer struct {
	w    io.Writer
	held []byte
}

// Write implements io.Writer. An error of the writer behind is returned as it is.
func (s *sanitizer) Write(p []byte) (int, error) {
	b := append(s.held, p...)
	cut := len(b) - unfinished(b)
	text := Sanitize(string(b[:cut]))
	s.held = append([]byte(nil), b[cut:]...)
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished tells how many bytes at the end of b depend on what follows.
func unfinished(b []byte) int {
	if len(b) > 0 && b[len(b)-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
