// Package record is the wire of clawsh: one JSON object a line, UTF-8, over pipes and in files.
//
// A Line is a validated record whose bytes are kept as they came. Stages read single fields from it, splice fields in
// before its closing brace (Line.With), and pass on what they do not own byte for byte; nothing is ever re-encoded.
// The structs of this package (User, Request, ToolCall …) are decoded on demand; docs/SCHEMAS.md is their source of
// truth.
//
// Parse rejects what two readers could read differently: duplicate names, at any depth; top-level names that differ
// only in case from a known one; invalid UTF-8; lines over MaxLineBytes; nesting over MaxDepth; trailing data;
// objects without a kind (RFC 7493).
package record

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Version is the version of the records that this package writes, the field v of each.
const Version = 1

// Limits of a line. A conversation with five tool rounds of 1 MB each fits in MaxLineBytes; nothing that people or
// models write nests anywhere near MaxDepth, while parsers have been crashed by far less than a megabyte of brackets.
const (
	MaxLineBytes = 8 << 20
	MaxDepth     = 64
)

// Raw is a JSON value as bytes. It is written exactly as it was read.
type Raw = jsontext.Value

// NewID returns prefix followed by a fresh UUIDv7 (RFC 9562): unique, and ordered by time of creation.
func NewID(prefix string) string {
	var u [16]byte
	rand.Read(u[:])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(u[:6], ms[2:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	out := make([]byte, 0, len(prefix)+36)
	out = append(out, prefix...)
	for i, part := range [][]byte{u[0:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, part)
	}
	return string(out)
}

// TimeFormat is RFC 3339 in UTC with milliseconds: the format of every ts field.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Now returns the current time in TimeFormat.
func Now() string { return time.Now().UTC().Format(TimeFormat) }
