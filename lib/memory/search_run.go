package memory

import (
	"cmp"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// bounds say how much a page may look at. Rows are entries that an index proposed; bytes are of their contents.
type bounds struct {
	windowWords, windowParts int
	rows, bytes              int
}

// defaultBounds let a page take some tenths of a second at the most on a slow machine.
var defaultBounds = bounds{windowWords: 2000, windowParts: 500, rows: 300_000, bytes: 64 << 20}

// search is one run of Find. The indexes only propose candidates; the matcher decides.
type search struct {
	store   *Store
	query   query
	fts     string   // the query for the index of words, if it can be asked
	strs    []string // what it asks for
	matcher *matcher
	filter  filter
	limit   int
	key     uint64
	bounds  bounds
	left    bounds // of rows and bytes
	pos     position
	hits    []Hit
	ends    []position // behind each hit
}

// candidate is an entry of a window. Found is nil as long as its content has not been looked at.
type candidate struct {
	id    int64
	score float64
	found *Hit
}

// run goes on at r.pos until there is one hit more than asked for, or nothing left, or enough has been looked at.
func (r *search) run() error {
	r.hits = []Hit{}
	for r.pos.stage != stageDone && len(r.hits) <= r.limit && !r.spent() {
		if r.pos.stage == stageWords && r.fts == "" || r.pos.high < r.filter.low {
			r.pos.nextStage(r.filter.high)
			continue
		}
		r.pos.high = min(r.pos.high, r.filter.high)
		window, atEnd, err := r.window()
		if err != nil {
			return err
		}
		slices.SortFunc(window, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id))
		})
		through, err := r.take(window)
		if err != nil {
			return err
		}
		switch {
		case !through:
		case atEnd:
			r.pos.nextStage(r.filter.high)
		default:
			r.pos.nextWindow()
		}
	}
	return nil
}

// spent reports whether the page has looked at enough.
func (r *search) spent() bool { return r.left.rows <= 0 || r.left.bytes <= 0 }

// take goes down the window, from where the page before ended. It reports whether it came to the end.
func (r *search) take(window []candidate) (through bool, err error) {
	for _, c := range window {
		if r.pos.started && (c.score > r.pos.score || c.score == r.pos.score && c.id >= r.pos.id) {
			continue
		}
		if c.found == nil && r.left.bytes <= 0 {
			return false, nil
		}
		if c.found == nil {
			if c.found, err = r.look(c); err != nil {
				return false, err
			}
		}
		r.pos.started, r.pos.score, r.pos.id = true, c.score, c.id
		if c.found == nil {
			continue
		}
		r.hits, r.ends = append(r.hits, *c.found), append(r.ends, r.pos)
		if len(r.hits) > r.limit {
			return false, nil
		}
	}
	return true, nil
}

// next is the cursor behind the hits, which it cuts to the limit.
func (r *search) next() string {
	end := r.pos
	if len(r.hits) > r.limit {
		r.hits = r.hits[:r.limit]
		end = r.ends[r.limit-1]
	}
	if end.stage == stageDone {
		return ""
	}
	return end.encode(r.key)
}

// window collects the newest candidates between r.pos.low and r.pos.high, and sets r.pos.low to where it ended: the same
// window again has the same candidates. AtEnd says that there are none behind them.
func (r *search) window() (window []candidate, atEnd bool, err error) {
	low := max(r.pos.low, r.filter.low)
	source, size := r.words, r.bounds.windowWords
	if r.pos.stage == stageParts {
		source, size = r.parts, r.bounds.windowParts
	}
	atEnd, last := true, low
	err = source(low, func(id int64, st *sqlite3.Stmt) error {
		r.left.rows--
		last = id
		if st != nil {
			c, err := r.candidate(id, st)
			if err != nil {
				return err
			}
			if c != nil {
				window = append(window, *c)
			}
		}
		if len(window) == size || r.spent() {
			atEnd = false
			return errStop
		}
		return nil
	})
	if atEnd {
		last = low
	}
	r.pos.low = last
	return window, last <= r.filter.low, err
}

const hitColumns = `e.record_id, e.conversation_id, e.turn_id, e.ts, e.kind, e.role, e.tool, e.provider, e.content`

// words proposes entries by the index of words: their id, and a statement if they pass the filter.
func (r *search) words(low int64, row func(int64, *sqlite3.Stmt) error) error {
	sql := `SELECT e.id, iif(` + r.filter.where + `, claw_counts(entry_words), NULL), e.ts
		FROM entry_words CROSS JOIN entries e ON e.id = entry_words.rowid
		WHERE entry_words MATCH ? AND entry_words.rowid BETWEEN ? AND ? ORDER BY entry_words.rowid DESC`
	return r.propose(sql, row, r.fts, low, r.pos.high)
}

// parts proposes entries by the index of trigrams, or all of them.
func (r *search) parts(low int64, row func(int64, *sqlite3.Stmt) error) error {
	sql := `SELECT e.id, iif(` + r.filter.where + `, 1, NULL), ` + hitColumns
	if q := r.query.trigramQuery(); q != "" {
		sql += ` FROM entry_trigrams CROSS JOIN entries e ON e.id = entry_trigrams.rowid
			WHERE entry_trigrams MATCH ? AND entry_trigrams.rowid BETWEEN ? AND ? ORDER BY entry_trigrams.rowid DESC`
		return r.propose(sql, row, q, low, r.pos.high)
	}
	return r.propose(sql+` FROM entries e WHERE e.content <> '' AND e.id BETWEEN ? AND ? ORDER BY e.id DESC`, row, low, r.pos.high)
}

func (r *search) propose(sql string, row func(int64, *sqlite3.Stmt) error, args ...any) error {
	return r.store.query(sql, func(st *sqlite3.Stmt) error {
		if st.ColumnType(1) == sqlite3.NULL {
			return row(st.ColumnInt64(0), nil)
		}
		return row(st.ColumnInt64(0), st)
	}, append(slices.Clone(r.filter.args), args...)...)
}

// candidate is the row at hand, nil if it does not belong here.
func (r *search) candidate(id int64, st *sqlite3.Stmt) (*candidate, error) {
	if r.pos.stage == stageWords {
		return &candidate{id: id, score: r.wordScore(st.ColumnRawBlob(1), st.ColumnText(2))}, nil
	}
	h, err := r.hit(id, st, 2)
	if h == nil || err != nil {
		return nil, err
	}
	return &candidate{id: id, score: h.Score, found: h}, nil
}

// look reads the content of a candidate that the index of words proposed; nil if it does not hold everything as whole words.
func (r *search) look(c candidate) (h *Hit, err error) {
	err = r.store.query(`SELECT `+hitColumns+` FROM entries e WHERE e.id = ?`, func(st *sqlite3.Stmt) error {
		h, err = r.hit(c.id, st, 0)
		return err
	}, c.id)
	if h != nil {
		h.Score = c.score
	}
	return h, err
}

// hit matches the row at hand, whose hitColumns begin at column at. In the first stage it takes whole words; in the second, what
// the first has not taken.
func (r *search) hit(id int64, st *sqlite3.Stmt, at int) (*Hit, error) {
	content := st.ColumnRawText(at + 8)
	r.left.bytes -= len(content)
	found, whole := r.matcher.match(content)
	if !found || r.pos.stage == stageWords && !whole {
		return nil, nil
	}
	h := &Hit{RecordID: st.ColumnText(at), ConversationID: st.ColumnText(at + 1), TurnID: st.ColumnText(at + 2), TS: st.ColumnText(at + 3),
		Kind: record.Kind(st.ColumnText(at + 4)), Role: st.ColumnText(at + 5), Tool: st.ColumnText(at + 6), Provider: st.ColumnText(at + 7),
		WholeWord: whole}
	h.Snippet, h.Matches = r.matcher.snippet(content)
	if r.pos.stage == stageWords {
		return h, nil
	}
	h.Score = r.partScore(len(content), h.TS)
	if whole && r.fts != "" {
		taken := false
		err := r.store.query(`SELECT 1 FROM entry_words WHERE entry_words MATCH ? AND rowid = ?`,
			func(*sqlite3.Stmt) error { taken = true; return nil }, r.fts, id)
		if taken || err != nil {
			return nil, err
		}
	}
	return h, nil
}
