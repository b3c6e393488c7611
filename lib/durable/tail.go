package durable

import (
	"bytes"
	"fmt"
	"io"

	"clawsh/lib/spelling"
)

// Reading backwards starts with firstChunk bytes and doubles. Records are at most 8 MiB: if the last maxTail bytes
// contain no complete line, the log is not ours and not worth the memory.
const (
	firstChunk = 16 << 10
	maxTail    = 64 << 20
)

// lastLine returns the last complete line of the first size bytes of r, without its newline, or nil if there is none.
// Bytes after the last newline are not a line yet.
func lastLine(r io.ReaderAt, size int64) ([]byte, error) {
	for want := int64(firstChunk); ; want *= 2 {
		n := min(want, size)
		end := make([]byte, n)
		if _, err := io.ReadFull(io.NewSectionReader(r, size-n, n), end); err != nil {
			return nil, err
		}
		stop := bytes.LastIndexByte(end, '\n')
		start := bytes.LastIndexByte(end[:max(stop, 0)], '\n') + 1
		switch {
		case stop >= 0 && (start > 0 || n == size):
			return bytes.Clone(end[start:stop:stop]), nil
		case n == size:
			return nil, nil
		case n >= maxTail:
			return nil, fmt.Errorf("no whole line in the last %s", spelling.Count(n, "byte"))
		}
	}
}
