package memory

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"clawsh/lib/record"
)

// Constants of the score, which is bm25 times the bonus of the new:
//
//	bm25  = sum over the words of weight * n * (k + 1) / (n + k * (1 - b + b * size / average)), k = 1.2, b = 0.75
//	bonus = 1 + 2 ^ (-age / halfLife)
//
// N is how often the word stands in the entry, size the number of words in it, average that of all entries. An entry of now counts
// twice as much as a very old one, and one of halfLife ago one and a half times as much.
//
// The weight of a word is ln(1 + (all - have + 0.5) / (have + 0.5)), of all entries and those that have it. How many have it is
// counted in the newest weighSample of them, and carried forward from how far back those reach. Beginnings of words weigh
// prefixWeight, a word that is alone 1. Parts of words all weigh 1, with sizes in bytes and partAverage for the average.
const (
	saturation   = 1.2
	lengthShare  = 0.75
	halfLife     = 30 * 24 * time.Hour
	weighSample  = 1000
	prefixWeight = 1
	partAverage  = 500
)

// registerCounts adds claw_counts to the index of words: an aux function that returns for the row at hand, as little-endian
// numbers, the average number of words (float32), the row's (uint32), and how often each string of the query is there (uint16).
func registerCounts(api *fts5.API) error {
	return api.CreateFunction("claw_counts", func(f fts5.Context, ctx sqlite3.Context, _ ...sqlite3.Value) {
		out, err := counts(f)
		if err != nil {
			ctx.ResultError(err)
			return
		}
		ctx.ResultBlob(out)
	})
}

func counts(f fts5.Context) ([]byte, error) {
	rows, err := f.RowCount()
	if err != nil {
		return nil, err
	}
	total, err := f.ColumnTotalSize(0)
	if err != nil {
		return nil, err
	}
	size, err := f.ColumnSize(0)
	if err != nil {
		return nil, err
	}
	places, err := f.InstCount()
	if err != nil {
		return nil, err
	}
	n := make([]uint16, f.PhraseCount())
	switch {
	case len(n) == 1:
		n[0] = uint16(min(places, maxCounted))
	default:
		for i := range min(places, maxCounted) {
			phrase, _, _, err := f.Inst(i)
			if err != nil {
				return nil, err
			}
			n[phrase]++
		}
	}
	out := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(total)/float32(max(rows, 1))))
	out = binary.LittleEndian.AppendUint32(out, uint32(size))
	for _, c := range n {
		out = binary.LittleEndian.AppendUint16(out, c)
	}
	return out, nil
}

// weight is that of a string of the query, by the newest entries that have it up to top.
func (s *Store) weight(str string, top int64) (float32, error) {
	if str[len(str)-1] == '*' {
		return prefixWeight, nil
	}
	var n, oldest int64
	err := s.query(`SELECT count(*), ifnull(min(rowid), 0) FROM (SELECT rowid FROM entry_words WHERE entry_words MATCH ?
		AND rowid <= ? ORDER BY rowid DESC LIMIT ?)`, func(st *sqlite3.Stmt) error {
		n, oldest = st.ColumnInt64(0), st.ColumnInt64(1)
		return nil
	}, str, top, weighSample)
	if err != nil {
		return 0, err
	}
	all, have := float64(top), float64(n)
	if n == weighSample {
		have *= all / float64(top-oldest+1)
	}
	return float32(math.Log(1 + (max(all-have, 0)+0.5)/(have+0.5))), nil
}

// wordScore is the score by what claw_counts returned. The average is that of the first page.
func (r *search) wordScore(counts []byte, ts string) float64 {
	if r.pos.average == 0 {
		r.pos.average = max(math.Float32frombits(binary.LittleEndian.Uint32(counts)), 1)
	}
	size := binary.LittleEndian.Uint32(counts[4:])
	sum := 0.0
	for i, w := range r.pos.weights {
		sum += float64(w) * saturated(int(binary.LittleEndian.Uint16(counts[8+2*i:])), float64(size)/float64(r.pos.average))
	}
	return r.boosted(sum, ts)
}

func (r *search) partScore(size int, ts string) float64 {
	sum := 0.0
	for _, n := range r.matcher.count() {
		sum += saturated(n, float64(size)/partAverage)
	}
	return r.boosted(sum, ts)
}

func saturated(n int, size float64) float64 {
	return float64(n) * (saturation + 1) / (float64(n) + saturation*(1-lengthShare+lengthShare*size))
}

// boosted applies the bonus. It rounds, so that equal entries have equal scores wherever they are computed.
func (r *search) boosted(sum float64, ts string) float64 {
	bonus := 1.0
	if t, err := time.Parse(record.TimeFormat, ts); err == nil {
		age := max(time.UnixMilli(r.pos.now).Sub(t), 0)
		bonus += math.Exp2(-float64(age) / float64(halfLife))
	}
	return math.Round(sum*bonus*1e4) / 1e4
}
