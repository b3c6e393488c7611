// Package terminal is the only place where clawsh uses a person's terminal: it makes untrusted text safe to show, and
// asks questions on /dev/tty.
//
// Text from a model, a tool or a file may contain escape sequences that retitle the window, rewrite what was shown,
// or hide a question. Escape and Sanitize make every such character visible.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Escape returns s on one line with every character visible: newlines, control and format characters (bidi, zero-width,
// tags, variation selectors), characters that show as nothing, blanks other than the space, private-use and unassigned
// characters and invalid UTF-8 become escapes such as \n, \x1b, \u202e or \xff, and a backslash becomes two. So no two
// texts have the same Escape. An invalid byte is \x80 to \xff, a character beyond ASCII always \u or \U.
func Escape(s string) string { return (&escaper{}).escape(s) }

// Sanitize is like Escape, for text of several lines that people read: newlines, tabs, backslashes and the blanks of
// other scripts stay. A carriage return before a newline is dropped. The result is safe to show, but not unambiguous.
func Sanitize(s string) string { return (&escaper{lines: true}).escape(s) }

// maxMarks is how many marks one character may bear: languages need four or five, and a thousand cover the lines
// around.
const maxMarks = 6

// escaper is a text on its way to a terminal.
type escaper struct {
	lines bool
	based bool // a character stands before that a mark can belong to
	marks int  // how many it has
}

func (e *escaper) escape(s string) string {
	if plain(s, e.lines) {
		if s != "" {
			e.follow(rune(s[len(s)-1]))
		}
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case e.lines && (r == '\n' || r == '\t' || r == '\\'):
			b.WriteByte(byte(r))
		case e.lines && r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			r = 0
		case unicode.Is(unicode.M, r) && (!e.based || e.marks >= maxMarks):
			writeEscape(&b, r)
			r = 0
		default:
			writeVisible(&b, r, e.lines)
		}
		e.follow(r)
		i += size
	}
	return b.String()
}

// follow notes what stands before the next character. After an escape there is nothing that a mark could belong to.
func (e *escaper) follow(r rune) {
	switch {
	case unicode.Is(unicode.M, r) && visible(r):
		e.marks++
	default:
		e.based, e.marks = r > ' ' && visible(r) && !unicode.Is(unicode.Zs, r), 0
	}
}

// Name is like Escape, for a name in a list: no two names look alike because of blanks at their ends, or because one
// composes its accents and the other does not. Letters of different alphabets may still look alike.
func Name(s string) string {
	inner := strings.Trim(s, " ")
	if inner == "" {
		return strings.Repeat(`\x20`, len(s))
	}
	at := strings.Index(s, inner)
	var b strings.Builder
	b.WriteString(strings.Repeat(`\x20`, at))
	var base rune
	for i, part := 0, inner; i < len(inner); {
		r, size := utf8.DecodeRuneInString(part)
		if unicode.Is(unicode.M, r) && unicode.In(base, composed...) || unicode.In(r, parts) {
			b.WriteString(Escape(inner[:i]))
			writeEscape(&b, r)
			inner, i = inner[i+size:], 0
			part, base = inner, 0
			continue
		}
		if !unicode.Is(unicode.M, r) {
			base = r
		}
		i, part = i+size, part[size:]
	}
	b.WriteString(Escape(inner))
	b.WriteString(strings.Repeat(`\x20`, len(s)-at-len(strings.Trim(s, " "))))
	return b.String()
}

// composed are the scripts whose letters have their accents in them, where text is in its usual form; parts are letters
// that make others, or are the same as another.
var composed = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Common, unicode.Han,
	unicode.Hiragana,
	unicode.Katakana, unicode.Hangul, unicode.Arabic}

var parts = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x0374, Hi: 0x0374, Stride: 1},
	{Lo: 0x037e, Hi: 0x037e, Stride: 1},
	{Lo: 0x0387, Hi: 0x0387, Stride: 1}, {Lo: 0x1100, Hi: 0x11ff, Stride: 1}, {Lo: 0x2126, Hi: 0x212b, Stride: 1},
	{Lo: 0xf900, Hi: 0xfaff, Stride: 1}}, R32: []unicode.Range32{{Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}}}

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
	default:
		writeEscape(b, r)
	}
}

func writeEscape(b *strings.Builder, r rune) {
	switch {
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// unseen are characters that Unicode counts as letters, marks or symbols, although they show as nothing, or change what
// is beside them.
var unseen = []*unicode.RangeTable{unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}} // the empty Braille pattern

// visible tells whether a terminal shows the character, as itself and in its place.
func visible(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.IsPrint(r) && !unicode.In(r, unseen...)
}

// NewSanitizer returns a writer that sanitizes what it gets and writes it to w. A character that is split between two
// writes is held back until it is whole, and a carriage return until it is known whether a newline follows: at most
// three bytes, which Close writes escaped.
func NewSanitizer(w io.Writer) io.WriteCloser { return &sanitizer{w: w, to: escaper{lines: true}} }

type sanitizer struct {
	mu   sync.Mutex
	w    io.Writer
	to   escaper
	held []byte
}

// Write implements io.Writer. It returns errors of the underlying writer unchanged.
func (s *sanitizer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append(s.held, p...)
	cut := len(b) - unfinished(b)
	text := s.to.escape(string(b[:cut]))
	s.held = append([]byte(nil), b[cut:]...)
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what is held back. It does not close the underlying writer.
func (s *sanitizer) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, s.to.escape(string(s.held)))
	s.held = nil
	return err
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
