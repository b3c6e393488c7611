package conversation

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"clawsh/lib/record"
	"clawsh/lib/result"
	"clawsh/lib/spelling"
)

// How much of a tool result Shorten keeps: two thirds from its head, the rest from its tail.
const (
	keptBytes = 1024
	noneBytes = 0
)

// Shorten returns the head and tail of a tool result, together at most most bytes, with a line between them that says
// how much was left out and how the model can read it. It cuts at line ends if there are any. A result that would not
// get shorter is returned unchanged.
func Shorten(m record.Message, most int) record.Message {
	head, tail := cutAt(m.Content, most*2/3, most-most*2/3)
	if end := strings.LastIndexByte(head, '\n') + 1; end > len(head)/2 {
		head = head[:end]
	}
	if begin := strings.IndexByte(tail, '\n') + 1; begin > 0 && begin < len(tail)/2 {
		tail = tail[begin:]
	}
	// One line more than is missing: an error may precede the tool's output.
	from := max(strings.Count(head, "\n"), 1)
	note := fmt.Sprintf("[%d of %s left out here to save room; read on: file_read {\"path\":%q,\"from_line\":%d}]",
		len(m.Content)-len(head)-len(tail),
		spelling.Count(len(m.Content), "byte"), result.Prefix+result.ID(m.ToolCallID), from)
	var parts []string
	for _, p := range []string{strings.TrimSuffix(head, "\n"), note, tail} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if short := strings.Join(parts, "\n"); len(short) < len(m.Content) && TextTokens(short) < TextTokens(m.Content) {
		m.Content = short
	}
	return m
}

// cutAt returns the first and the last bytes of a text, as many as asked for or, to keep characters whole, a few less.
func cutAt(s string, first, last int) (head, tail string) {
	if first+last >= len(s) {
		return s, ""
	}
	from := len(s) - last
	for first > 0 && !utf8.RuneStart(s[first]) {
		first--
	}
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[:first], s[from:]
}

// ShortenResult returns a tool result in the form in which Choose sends it when space is short, its smallest outside
// the newest turn. Other messages are returned unchanged.
func ShortenResult(m record.Message) record.Message {
	if m.Role != "tool" {
		return m
	}
	return Shorten(m, keptBytes)
}
