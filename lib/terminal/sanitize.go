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
// tags, variation selectors), private-use characters and invalid UTF-8 become escapes such as \n, \x1b, \u202e or \xff,
// and a backslash becomes two, so that different texts look different.
func Escape(s string) string { return escape(s, false) }

// Sanitize is Escape for text of several lines: newlines, tabs and backslashes stay. A carriage return before a newline is
// dropped.
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
			writeVisible(&b, r)
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

func writeVisible(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\\':
		b.WriteString(`\\`)
	case visible(r):
		b.WriteRune(r)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// visible tells whether a terminal shows the character, as itself and in its place.
func visible(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	if 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 {
		return false // variation selectors and invisible fillers, which Unicode counts as marks and letters
	}
	return unicode.IsGraphic(r)
}

// NewSanitizer returns a writer that passes Sanitize of what it gets on to w. A character that is split between two writes
// is held back until it is whole.
func NewSanitizer(w io.Writer) io.Writer { return &sanitizer{w: w} }

type sanitizer struct {
	w    io.Writer
	rest []byte
}

// Write implements io.Writer.
func (s *sanitizer) Write(p []byte) (int, error) {
	b := append(s.rest, p...)
	cut := len(b)
	for back := 1; back <= min(3, len(b)); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if c >= 0xc0 && !utf8.FullRune(b[len(b)-back:]) {
				cut = len(b) - back
			}
			break
		}
	}
	text := Sanitize(string(b[:cut]))
	s.rest = append([]byte(nil), b[cut:]...)
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
