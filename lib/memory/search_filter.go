package memory

import (
	"math"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// filter is what an entry must be beside matching: a condition on entries e with its arguments, and the ids between
// which all that fulfil it are.
type filter struct {
	where     string
	args      []any
	low, high int64
}

func (s *Store) newFilter(o SearchOptions, now time.Time, top int64) (f filter, err error) {
	f = filter{low: 1, high: top}
	var conds []string
	add := func(cond, value string) {
		if value != "" {
			conds, f.args = append(conds, cond), append(f.args, value)
		}
	}
	since, err := timeFilter(o.Since, now, false)
	if err != nil {
		return f, err
	}
	until, err := timeFilter(o.Until, now, true)
	if err != nil {
		return f, err
	}
	add("e.conversation_id = ?", o.ConversationID)
	add("e.role = ?", o.Role)
	add("e.kind = ?", string(o.Kind))
	add("e.ts >= ?", since)
	add("e.ts <= ?", until)
	add("e.tool = ?", o.Tool)
	add("e.provider = ?", o.Provider)
	f.where = "1"
	if len(conds) > 0 {
		f.where = strings.Join(conds, " AND ")
	}
	return f, s.narrow(&f, o, since, until)
}

func timeFilter(text string, now time.Time, end bool) (string, error) {
	if text == "" {
		return "", nil
	}
	t, err := ParseTime(text, now, end)
	if err != nil {
		return "", err
	}
	return t.UTC().Format(record.TimeFormat), nil
}

// narrow finds the lowest and the highest id that a filter can give, by the indexes that are there: a search need not
// go through what is outside.
func (s *Store) narrow(f *filter, o SearchOptions, since, until string) error {
	if o.ConversationID == "" && o.Tool == "" && o.Provider == "" && since == "" && until == "" {
		return nil
	}
	have := map[string]bool{}
	err := s.query(`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'entries'`,
		func(st *sqlite3.Stmt) error {
			have[st.ColumnText(0)] = true
			return nil
		})
	if err != nil {
		return err
	}
	for _, n := range []struct {
		index, column, value string
	}{{"entries_turn", "conversation_id", o.ConversationID}, {"entries_tool", "tool", o.Tool},
		{"entries_provider", "provider", o.Provider}} {
		if n.value != "" && have[n.index] {
			err := s.clip(f, `FROM main.entries INDEXED BY `+n.index+` WHERE `+n.column+` = ?1 AND `+n.column+` <> ''`,
				n.value)
			if err != nil {
				return err
			}
		}
	}
	if (since != "" || until != "") && have["entries_ts"] {
		if until == "" {
			until = "9999"
		}
		return s.clip(f, `FROM main.entries INDEXED BY entries_ts WHERE ts BETWEEN ?1 AND ?2`, since, until)
	}
	return nil
}

// clip asks for the lowest and the highest id one by one, which an index answers without going through it where it can.
func (s *Store) clip(f *filter, from string, args ...any) error {
	low, high := int64(math.MaxInt64), int64(0)
	err := s.query(`SELECT min(id) `+from, func(st *sqlite3.Stmt) error {
		if st.ColumnType(0) != sqlite3.NULL {
			low = st.ColumnInt64(0)
		}
		return nil
	}, args...)
	if err != nil {
		return err
	}
	err = s.query(`SELECT max(id) `+from, func(st *sqlite3.Stmt) error { high = st.ColumnInt64(0); return nil },
		args...)
	f.low, f.high = max(f.low, low), min(f.high, high)
	return err
}

// ErrTime says that a text names no point in time.
var ErrTime = record.ErrTime

// ParseTime reads a point in time (record.ParseTime); with end, a date is the last millisecond of that day.
func ParseTime(text string, now time.Time, end bool) (time.Time, error) {
	t, day, err := record.ParseTime(text, now)
	if day && end {
		t = t.AddDate(0, 0, 1).Add(-time.Millisecond)
	}
	return t, err
}
