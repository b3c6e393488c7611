package memory

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// Limits of Find. Words behind the first maxQueryRunes of a query do not count.
const (
	DefaultHits   = 20
	MaxHits       = 200
	maxQueryRunes = 1024
)

// ErrCursor says that SearchOptions.After is not what Find returned for this search.
var ErrCursor = errors.New("not the cursor of a page of this search")

// SearchOptions narrow a search; an empty one does not. Limit is the greatest number of hits: 0 or less means
// DefaultHits, more than MaxHits means MaxHits. ConversationID is the full id of the only conversation to look at.
// Since and Until are as for ParseTime, both inclusive. After is the Next of the page before.
type SearchOptions struct {
	Limit          int
	ConversationID string
	Role           string
	Tool           string
	Provider       string
	Kind           record.Kind
	Since, Until   string
	After          string
}

// Found is a page of hits. Next, put into SearchOptions.After, gives the hits behind them; it is empty if everything
// has been looked at. A page may have few hits, or none, and a Next all the same: the search has a limit to how far it
// looks at a time.
type Found struct {
	Hits []Hit
	Next string
}

// Hit is an entry that Find found. Score says how well it matches, for comparison with others of the same search; it is
// 0 where parts of words match. Snippet is at most 160 runes of its content around the match, with line breaks and tabs
// as blanks; Matches are the places in it that match. WholeWord says that each word of the query stands in the entry as
// a word of its own.
type Hit struct {
	RecordID       string      `json:"id"`
	ConversationID string      `json:"conversation_id"`
	TurnID         string      `json:"turn_id"`
	TS             string      `json:"ts"`
	Kind           record.Kind `json:"kind"`
	Role           string      `json:"role"`
	Tool           string      `json:"tool,omitzero"`
	Provider       string      `json:"provider,omitzero"`
	Score          float64     `json:"score"`
	WholeWord      bool        `json:"whole_word"`
	Snippet        string      `json:"snippet"`
	Matches        []Span      `json:"matches"`
}

// Find finds the entries whose content holds every word of the query, in any place and order, without regard to letter
// case.
//
//	word         what stands between blanks, whatever characters it is made of, also as a part of a word
//	"a phrase"   these words next to each other
//	begin*       words that begin so
//	-word        without this word (or -"phrase", -begin*); also NOT word
//	a OR b       one of them, or both; a AND b is the same as a b
//
// A query that is none of that - with a quote that is not closed, say, or nothing but exclusions - is plain text: each
// word as it is. A query without a word is ErrEmptyQuery; no other query is an error.
//
// Entries that hold everything as whole words come first, ranked by SQLite's bm25, the newest 2000 of them and then as
// many before those; then come those that hold it as parts of words, the newest first. A search looks at a limited
// number of rows and bytes: what is behind them is left for the next page.
//
// Pages show the entries that were there when the first page was made.
func (s *Store) Find(text string, o SearchOptions) (Found, error) {
	q := parseQuery(text)
	if len(q.clauses) == 0 {
		return Found{}, envelope.Errorf(envelope.ExitUsage, "empty_query", "search memory: %w", ErrEmptyQuery).
			WithHint("give at least one word")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(q, text, o, defaultBounds)
	switch {
	case errors.Is(err, ErrTime) || errors.Is(err, ErrCursor):
		return Found{}, fmt.Errorf("search memory: %w", err)
	case err != nil:
		return Found{}, fmt.Errorf("search memory %s: %w", s.path, err)
	}
	return found, nil
}

// find runs the search on one snapshot of the file.
func (s *Store) find(q query, text string, o SearchOptions, b bounds) (found Found, err error) {
	r := &search{store: s, fts: q.wordQuery(), trigrams: q.trigramQuery(), matcher: newMatcher(q), left: b, bounds: b,
		hits: []Hit{}}
	r.limit = min(cmp.Or(max(o.Limit, 0), DefaultHits), MaxHits)
	key := keyOf(text, o)
	if o.After != "" {
		if r.pos, err = decodeCursor(o.After, key); err != nil {
			return found, err
		}
	}
	if err := s.registerFTS(); err != nil {
		return found, err
	}
	if err := s.conn.Exec("BEGIN"); err != nil {
		return found, err
	}
	defer func() {
		if !s.conn.GetAutocommit() { // some failures have rolled back already
			err = errors.Join(err, s.conn.Exec("ROLLBACK"))
		}
	}()
	if o.After == "" {
		top, err := number(s.conn, "SELECT ifnull(max(id), 0) FROM entries")
		if err != nil {
			return found, err
		}
		r.pos = position{snapshot: top, now: time.Now().UnixMilli(), high: top}
	}
	if r.filter, err = s.newFilter(o, time.UnixMilli(r.pos.now), r.pos.snapshot); err != nil {
		return found, err
	}
	if err = r.run(); err == nil && r.pos.stage != stageDone {
		found.Next = r.pos.encode(key)
	}
	found.Hits = r.hits
	return found, err
}
