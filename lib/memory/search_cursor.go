package memory

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
)

// The stages of a search.
const (
	stageWords = iota
	stageParts
	stageDone
)

// position is a place in the results of a search, with what all of its pages share: the highest id when it began, and
// the time of then (Unix milliseconds). Of a window that is ranked, offset entries have been looked at, and id was the
// last of these: what others add or delete meanwhile does not move the place, unless they delete that very entry.
type position struct {
	snapshot, now int64

	stage, low, high int64 // low and high are of the window, or of what is left; low 0 is not known yet
	offset, id       int64
}

// to goes on at the entries up to high.
func (p *position) to(stage, high int64) {
	p.stage, p.low, p.high, p.offset, p.id = stage, 0, high, 0, 0
}

// keyOf tells one search from another. A limit may change between pages.
func keyOf(text string, o SearchOptions) uint64 {
	h := fnv.New64a()
	for _, s := range []string{text, o.ConversationID, o.Role, o.Tool, o.Provider, string(o.Kind), o.Since, o.Until} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum64()
}

const cursorVersion = 2

func (p *position) numbers() []*int64 {
	return []*int64{&p.snapshot, &p.now, &p.stage, &p.low, &p.high, &p.offset, &p.id}
}

// encode makes a cursor: text that need not be quoted in a shell.
func (p position) encode(key uint64) string {
	out := binary.LittleEndian.AppendUint64([]byte{cursorVersion}, key)
	for _, n := range p.numbers() {
		out = binary.AppendUvarint(out, uint64(*n))
	}
	return base64.RawURLEncoding.EncodeToString(out)
}

// decodeCursor reads a cursor of the search with this key. It may come from anywhere: whatever it says only chooses
// which entries are shown.
func decodeCursor(text string, key uint64) (p position, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 9 || raw[0] != cursorVersion || binary.LittleEndian.Uint64(raw[1:]) != key {
		return p, ErrCursor
	}
	raw = raw[9:]
	for _, n := range p.numbers() {
		u, size := binary.Uvarint(raw)
		if size <= 0 || u > math.MaxInt64 {
			return p, ErrCursor
		}
		*n, raw = int64(u), raw[size:]
	}
	if len(raw) > 0 || p.stage >= stageDone || p.high > p.snapshot || p.low > p.high {
		return p, ErrCursor
	}
	return p, nil
}
