package stage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"clawsh/lib/record"
)

const bufferBytes = 64 << 10

// errOutput marks a failed write to the output: the stage ends, since nothing that it does can be seen any more.
var errOutput = errors.New("write output")

// Writer writes records, one a line.
type Writer struct{ b *bufio.Writer }

// NewWriter returns a buffered Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriterSize(w, bufferBytes)} }

// Write writes one record, given without its newline.
func (w *Writer) Write(line []byte) error {
	w.b.Write(line)
	return outputError(w.b.WriteByte('\n'))
}

// Record encodes v and writes it as one record.
func (w *Writer) Record(v any) error {
	line, err := record.Encode(v)
	if err != nil {
		return fmt.Errorf("encode a record: %w", err)
	}
	return w.Write(line)
}

// Flush passes on what was written so far.
func (w *Writer) Flush() error { return outputError(w.b.Flush()) }

func outputError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// idleFlusher flushes the runner's output before each read that may block.
type idleFlusher struct {
	in io.Reader
	r  *runner
}

func (f idleFlusher) Read(p []byte) (int, error) {
	f.r.mu.Lock()
	err := f.r.out.Flush()
	f.r.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return f.in.Read(p)
}

// lineReader reads lines of at most record.MaxLineBytes; longer ones are skipped without being held.
type lineReader struct {
	in   *bufio.Reader
	long []byte
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, bufferBytes)}
}

// next returns the next line without its newline, valid until the next call; record.ErrTooLong for a line that was
// skipped; io.EOF at the end.
func (l *lineReader) next() ([]byte, error) {
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
		if size <= record.MaxLineBytes+1 {
			l.long = append(l.long, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || size == 0) {
			return nil, err
		}
		if size > record.MaxLineBytes+1 {
			return nil, fmt.Errorf("%w: %d bytes, at most %d", record.ErrTooLong, size, record.MaxLineBytes)
		}
		return bytes.TrimSuffix(l.long, []byte("\n")), nil
	}
}

// peek returns the first byte that is not blank, without taking it.
func (l *lineReader) peek() (byte, error) {
	for n := 1; ; n++ {
		b, err := l.in.Peek(n)
		if len(b) < n {
			return 0, err
		}
		if c := b[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, nil
		}
	}
}

// rest returns everything up to the end of the input, refusing more than limit bytes.
func (l *lineReader) rest(limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(l.in, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%w: more than %d bytes", record.ErrTooLong, limit)
	}
	return b, err
}
