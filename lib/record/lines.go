package record

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

const lineBufferBytes = 64 << 10

// LineReader reads lines of at most MaxLineBytes; longer ones are skipped without being buffered.
type LineReader struct {
	in   *bufio.Reader
	long []byte
	torn bool
}

// NewLineReader returns a LineReader of in. A bufio.Reader of 64 KiB or more is used as it is, so that others may read
// from it too.
func NewLineReader(in io.Reader) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, lineBufferBytes)}
}

// Next returns the next line without its newline, valid until the next call; ErrTooLong for a line that was skipped;
// io.EOF at the end. The last line may lack its newline: see Torn.
func (l *LineReader) Next() ([]byte, error) {
	if cap(l.long) > 1<<20 {
		l.long = nil
	}
	l.long = l.long[:0]
	size := 0
	for {
		part, err := l.in.ReadSlice('\n')
		size += len(part)
		if err == nil && size == len(part) {
			return part[:len(part)-1], nil
		}
		if size <= MaxLineBytes+1 {
			l.long = append(l.long, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || size == 0) {
			return nil, err
		}
		l.torn = err == io.EOF
		if size > MaxLineBytes+1 {
			return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, size, MaxLineBytes)
		}
		return bytes.TrimSuffix(l.long, []byte("\n")), nil
	}
}

// Torn reports whether the last line ended without a newline: its writer may not have finished it.
func (l *LineReader) Torn() bool { return l.torn }

// Whole returns a copy of the next line, for reading what another of our programs wrote: a torn or too long line is
// an error, since our programs never write one.
func (l *LineReader) Whole() ([]byte, error) {
	line, err := l.Next()
	if err == nil && l.torn {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(line), nil
}
