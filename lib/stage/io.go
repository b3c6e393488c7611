package stage

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"clawsh/lib/record"
)

const bufferBytes = 64 << 10

// errOutput marks a failed write to the output: the stage ends, since nobody can see what it does.
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

// Flush writes out what is buffered.
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

// peek returns the first byte that is not blank, without consuming it.
func peek(in *bufio.Reader) (byte, error) {
	for n := 1; ; n++ {
		b, err := in.Peek(n)
		if len(b) < n {
			return 0, err
		}
		if c := b[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, nil
		}
	}
}

// rest returns everything up to the end of the input; more than limit bytes is an error.
func rest(in io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%w: more than %d bytes", record.ErrTooLong, limit)
	}
	return b, err
}
