package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"clawsh/lib/card"
	"clawsh/lib/edit"
	"clawsh/lib/secret"
	"clawsh/lib/spelling"
)

const (
	// maxCounted bounds how much of a file is read to count its lines.
	maxCounted = 256 << 20
	// maxLineBytes is how much of one line is shown where lines are numbered.
	maxLineBytes = 4096
	// noteBytes is room for what is said behind the lines.
	noteBytes = 160
)

// cleanReader reads a text without its secrets. Its lines keep their numbers.
type cleanReader struct {
	r     io.Reader
	clean *secret.Stream
	buf   []byte
	ready string
	err   error
}

func newCleanReader(r io.Reader, secrets *secret.Redactor) *cleanReader {
	return &cleanReader{r: r, clean: secrets.NewLineStream(), buf: make([]byte, 64<<10)}
}

// Read implements io.Reader.
func (c *cleanReader) Read(p []byte) (int, error) {
	for c.ready == "" {
		if c.err != nil {
			return 0, c.err
		}
		n, err := c.r.Read(c.buf)
		c.ready, c.err = c.clean.Next(string(c.buf[:n])), err
		if errors.Is(err, io.EOF) {
			c.ready += c.clean.Rest()
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// lineReader reads a text line by line, however long the lines are: of each at most so many bytes are kept.
type lineReader struct {
	r    *bufio.Reader
	keep int
	read int64 // bytes so far
	line []byte
	long bool // the line was longer than what is kept of it
	more bool // it ended with a newline
}

func newLineReader(r io.Reader, keep int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), keep: keep}
}

// next reads a line; false at the end.
func (l *lineReader) next() (bool, error) {
	l.line, l.long, l.more = l.line[:0], false, false
	begun := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		begun = begun || len(part) > 0
		if err == nil {
			l.more, part = true, part[:len(part)-1]
		}
		if room := l.keep - len(l.line); len(part) > room {
			part, l.long = part[:room], true
		}
		l.line = append(l.line, part...)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return begun, nil
		default:
			return false, why(err)
		}
	}
}

// text is the line as it is shown, whole characters only.
func (l *lineReader) text() string {
	s := string(l.line)
	if !l.long {
		return strings.TrimSuffix(s, "\r")
	}
	return s[:len(s)-partialEnd(s)] + "…"
}

// readLines reads numbered lines, as many as were asked for and fit, and says how many the file has and how to read on.
func readLines(ctx context.Context, f io.Reader, a card.ReadArgs, size int64, maxOutput int) (string, error) {
	from, most := int64(1), int64(1<<53)
	if a.FromLine != nil {
		from = *a.FromLine
	}
	if a.Lines != nil {
		most = *a.Lines
	}
	room := max(maxOutput-noteBytes, 1)
	l := newLineReader(f, min(maxLineBytes, max(room/2, 1)))
	var b strings.Builder
	n, last, full := int64(0), int64(0), false
	for l.read < maxCounted {
		if n%4096 == 0 && context.Cause(ctx) != nil {
			return "", context.Cause(ctx)
		}
		ok, err := l.next()
		if err != nil {
			return "", err
		}
		if !ok {
			return b.String() + linesNote(from, last, n, b.Len() > 0, ""), lineError(from, n)
		}
		if n++; n < from || n-from >= most || full {
			continue
		}
		if strings.IndexByte(string(l.line), 0) >= 0 || !utf8.ValidString(strings.TrimSuffix(l.text(), "…")) {
			return "", fmt.Errorf("it is binary, not UTF-8 text (%s; line %d)", spelling.Count(size, "byte"), n)
		}
		text := edit.Numbered(int(n), l.text())
		if full = b.Len() > 0 && b.Len()+len(text) > room; full {
			continue
		}
		b.WriteString(text)
		last = n
	}
	return b.String() + linesNote(from, last, n, b.Len() > 0, "more than "), lineError(from, n)
}

func lineError(from, have int64) error {
	if have == 0 || from <= have {
		return nil
	}
	return fmt.Errorf("from_line %d is past the end: it has %s", from, spelling.Count(have, "line"))
}

// linesNote says what of a file was shown.
func linesNote(from, last, have int64, some bool, atLeast string) string {
	switch {
	case !some:
		return "(empty)\n"
	case last < have:
		return fmt.Sprintf("[lines %d to %d of %s%d; continue with from_line %d]\n", from, last, atLeast, have, last+1)
	case from > 1:
		return fmt.Sprintf("[lines %d to %d, the last]\n", from, last)
	}
	return fmt.Sprintf("[all %s]\n", spelling.Count(have, "line"))
}
