package memory

import (
	"slices"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// bounds say how much a page may look at. A window is what is ranked together; rows are entries that an index proposed,
// a tenth of them for each window; bytes are of their contents.
type bounds struct{ window, rows, bytes int }

// defaultBounds let a page take some tenths of a second at the most on a slow machine.
var defaultBounds = bounds{window: 2000, rows: 300_000, bytes: 64 << 20}

// search is one run of Find. The indexes only propose entries; the matcher decides.
type search struct {
	store         *Store
	fts, trigrams string // the queries for the indexes, empty if they cannot be asked
	matcher       *matcher
	filter        filter
	limit         int
	bounds, left  bounds
	pos           position
	hits          []Hit
}

// run continues at r.pos until it sees a hit more than asked for, nothing is left, or enough has been looked at.
func (r *search) run() error {
	for r.pos.stage == stageWords {
		if r.fts == "" || r.pos.high < r.filter.low {
			r.pos.to(stageParts, r.filter.high)
		} else if stop, err := r.window(); stop || err != nil {
			return err
		}
	}
	return r.parts()
}

// spent reports whether the page has looked at enough.
func (r *search) spent() bool { return r.left.rows <= 0 || r.left.bytes <= 0 }

// window goes down the newest matches of whole words, the best first, from where the page before ended. Stop says that
// the page is over.
func (r *search) window() (stop bool, err error) {
	r.pos.high = min(r.pos.high, r.filter.high)
	if r.pos.low == 0 {
		if err := r.proposed(); err != nil {
			return true, err
		}
	}
	r.left.rows -= max(r.bounds.rows/10, 1)
	ids, scores, err := r.ranked()
	if err != nil {
		return true, err
	}
	if len(ids) == r.bounds.window {
		r.pos.low = slices.Min(ids)
	}
	at := min(r.pos.offset, int64(len(ids)))
	if i := slices.Index(ids, r.pos.id); i >= 0 {
		at = int64(i) + 1
	}
	for ; at < int64(len(ids)); at++ {
		if r.left.bytes <= 0 {
			return true, nil
		}
		err := r.store.query(`SELECT `+hitColumns+` FROM entries e WHERE e.id = ?`, func(st *sqlite3.Stmt) error {
			stop, err = r.hit(st, ids[at], scores[at])
			return err
		}, ids[at])
		if stop || err != nil {
			return true, err
		}
		r.pos.offset, r.pos.id = at+1, ids[at]
	}
	r.pos.to(stageWords, r.pos.low-1)
	return r.spent(), nil
}

// proposed sets how far back a window goes at the most: with a filter that hardly any entry passes, not to the very
// first.
func (r *search) proposed() error {
	r.pos.low = r.filter.low
	if len(r.filter.args) == 0 {
		return nil
	}
	return r.store.query(`SELECT rowid FROM entry_words WHERE entry_words MATCH ? AND rowid BETWEEN ? AND ?
		ORDER BY rowid DESC LIMIT 1 OFFSET ?`, func(st *sqlite3.Stmt) error {
		r.pos.low = st.ColumnInt64(0)
		return nil
	}, r.fts, r.pos.low, r.pos.high, max(r.bounds.rows/10, 1)-1)
}

// ranked are the entries of a window by the index's own rank (https://sqlite.org/fts5.html, 5.1.1), the newest first of
// equal ones.
func (r *search) ranked() (ids []int64, scores []float64, err error) {
	from := `entry_words`
	if len(r.filter.args) > 0 {
		from += ` CROSS JOIN entries e ON e.id = entry_words.rowid`
	}
	err = r.store.query(`SELECT id, score FROM (SELECT entry_words.rowid AS id, bm25(entry_words) AS score FROM `+from+`
		WHERE `+r.filter.where+` AND entry_words MATCH ? AND entry_words.rowid BETWEEN ? AND ?
		ORDER BY entry_words.rowid DESC LIMIT ?) ORDER BY score, id DESC`, func(st *sqlite3.Stmt) error {
		ids, scores = append(ids, st.ColumnInt64(0)), append(scores, -st.ColumnFloat(1))
		return nil
	}, append(slices.Clone(r.filter.args), r.fts, r.pos.low, r.pos.high, r.bounds.window)...)
	return ids, scores, err
}

const hitColumns = `e.record_id, e.conversation_id, e.turn_id, e.ts, e.kind, e.role, e.tool, e.provider, e.content, e.id`

// parts goes through what the index of trigrams proposes, or through all entries, the newest first.
func (r *search) parts() error {
	args := append(slices.Clone(r.filter.args), r.filter.low, min(r.pos.high, r.filter.high))
	sql := `SELECT ` + hitColumns + `, ` + r.filter.where +
		` FROM entries e WHERE e.content <> '' AND e.id BETWEEN ? AND ? ORDER BY e.id DESC`
	if r.trigrams != "" {
		sql = `SELECT ` + hitColumns + `, ` + r.filter.where + ` FROM entry_trigrams CROSS JOIN entries e ON e.id = entry_trigrams.rowid
			WHERE entry_trigrams.rowid BETWEEN ? AND ? AND entry_trigrams MATCH ? ORDER BY entry_trigrams.rowid DESC`
		args = append(args, r.trigrams)
	}
	stopped := false
	err := r.store.query(sql, func(st *sqlite3.Stmt) (err error) {
		id := st.ColumnInt64(9)
		r.pos.high = id
		if stopped = r.spent(); !stopped && st.ColumnBool(10) {
			stopped, err = r.hit(st, id, 0)
		}
		if err == nil && stopped {
			err = errStop
		}
		r.left.rows--
		return err
	}, args...)
	if !stopped && err == nil {
		r.pos.stage = stageDone
	}
	return err
}

// hit takes the row at hand if it matches: in the first stage whole words, in the second what the first has not taken.
// Full says that it would be one too many.
func (r *search) hit(st *sqlite3.Stmt, id int64, score float64) (full bool, err error) {
	content := st.ColumnRawText(8)
	r.left.bytes -= len(content)
	found, whole := r.matcher.match(content)
	if !found || r.pos.stage == stageWords && !whole {
		return false, nil
	}
	if r.pos.stage == stageParts && whole && r.fts != "" {
		err := r.store.query(`SELECT 1 FROM entry_words WHERE entry_words MATCH ? AND rowid = ?`,
			func(*sqlite3.Stmt) error { found = false; return nil }, r.fts, id)
		if err != nil || !found {
			return false, err
		}
	}
	if len(r.hits) == r.limit {
		return true, nil
	}
	h := Hit{RecordID: st.ColumnText(0), ConversationID: st.ColumnText(1), TurnID: st.ColumnText(2),
		TS:   st.ColumnText(3),
		Kind: record.Kind(st.ColumnText(4)), Role: st.ColumnText(5), Tool: st.ColumnText(6), Provider: st.ColumnText(7),
		Score: score, WholeWord: whole}
	h.Snippet, h.Matches = r.matcher.snippet(content)
	r.hits = append(r.hits, h)
	return false, nil
}
