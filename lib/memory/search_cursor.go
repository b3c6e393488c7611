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

// position is a place in the results of a search, with what all of its pages share: the highest id when it began, the time of
// then (Unix milliseconds), and what the words weigh. Started, score and id are the last entry in the window that was looked at.
type position struct {
	snapshot, now int64
	average       float32
	weights       []float32

	stage     int
	low, high int64 // of the window; low 0 is not known yet
	started   bool
	score     float64
	id        int64
}

// nextWindow goes to the entries before those of this one.
func (p *position) nextWindow() {
	p.high, p.low, p.started, p.score, p.id = p.low-1, 0, false, 0, 0
}

func (p *position) nextStage(high int64) {
	p.stage++
	p.high, p.low, p.started, p.score, p.id = high, 0, false, 0, 0
}

// keyOf tells one search from another. A limit may change between pages.
func keyOf(text string, o SearchOptions) uint64 {
	h := fnv.New64a()
	for _, s := range []string{text, o.ConversationID, o.Role, o.Tool, o.Provider, string(o.Kind), o.Since, o.Until} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum64()
}

const cursorVersion = 1

// encode makes a cursor: text that need not be quoted in a shell.
func (p position) encode(key uint64) string {
	started := uint64(0)
	if p.started {
		started = 1
	}
	out := binary.LittleEndian.AppendUint64([]byte{cursorVersion}, key)
	for _, n := range []uint64{uint64(p.snapshot), uint64(p.now), uint64(p.stage), uint64(p.low), uint64(p.high), started, uint64(p.id)} {
		out = binary.AppendUvarint(out, n)
	}
	out = binary.LittleEndian.AppendUint64(out, math.Float64bits(p.score))
	for _, f := range append([]float32{p.average}, p.weights...) {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return base64.RawURLEncoding.EncodeToString(out)
}

// decodeCursor reads a cursor of the search with this key and number of weights. It may come from anywhere: whatever it says only
// chooses which entries are shown.
func decodeCursor(text string, key uint64, weights int) (p position, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 9 || raw[0] != cursorVersion || binary.LittleEndian.Uint64(raw[1:]) != key {
		return p, ErrCursor
	}
	raw = raw[9:]
	var stage, started int64
	for _, n := range []*int64{&p.snapshot, &p.now, &stage, &p.low, &p.high, &started, &p.id} {
		u, size := binary.Uvarint(raw)
		if size <= 0 || u > math.MaxInt64 {
			return p, ErrCursor
		}
		*n, raw = int64(u), raw[size:]
	}
	if len(raw) != 8+4+4*weights || stage >= stageDone || started > 1 || p.high > p.snapshot || p.low > p.high {
		return p, ErrCursor
	}
	p.stage, p.started = int(stage), started == 1
	p.score = math.Float64frombits(binary.LittleEndian.Uint64(raw))
	for raw = raw[8:]; len(raw) > 0; raw = raw[4:] {
		p.weights = append(p.weights, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	p.average, p.weights = p.weights[0], p.weights[1:]
	return p, p.finite()
}

func (p position) finite() error {
	for _, f := range append([]float32{p.average, float32(p.score)}, p.weights...) {
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) || f < 0 {
			return ErrCursor
		}
	}
	return nil
}
