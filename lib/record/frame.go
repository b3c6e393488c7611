package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// TooLongError is a frame of more bytes than its reader takes.
type TooLongError struct{ Bytes, Most int }

// Error implements error.
func (e TooLongError) Error() string {
	return fmt.Sprintf("a message of %d bytes is too long", e.Bytes)
}

// firstBytes is for most frames the whole of them.
const firstBytes = 64 << 10

// Frame returns a value as JSON after four bytes with its length: how parts of one program talk that send no records.
func Frame(v any, most int) ([]byte, error) {
	b, err := Encode(v)
	if err != nil {
		return nil, err
	}
	if len(b) > most {
		return nil, TooLongError{len(b), most}
	}
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), uint32(len(b))), b...), nil
}

// ReadFrame reads one frame strictly into v. The error is io.EOF if there is no more, io.ErrUnexpectedEOF if it ends
// in the middle, and a TooLongError before anything of a longer one was read.
func ReadFrame(r io.Reader, most int, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > int64(most) {
		return TooLongError{int(size), most}
	}
	// The length is a claim: memory is taken as the bytes come.
	b := bytes.NewBuffer(make([]byte, 0, min(size, firstBytes)+bytes.MinRead))
	if _, err := io.CopyN(b, r, size); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	return Decode(b.Bytes(), v)
}
