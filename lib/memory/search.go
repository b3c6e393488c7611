package memory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/envelope"
)

// Limits of Search. Words behind the first maxQueryRunes of a query do not count.
const (
	DefaultHits   = 20
	MaxHits       = 200
	maxQueryRunes = 1024
)

// SearchOptions narrow a search. Limit is the greatest number of hits: 0 or less means DefaultHits, more than MaxHits
// means MaxHits. ConversationID, if set, is the full id of the only conversation to look at.
type SearchOptions struct {
	Limit          int
	ConversationID string
}

// Hit is an entry that Search found. Snippet is at most 160 runes of its content around the match, with line breaks and
// tabs as blanks; Matches are the places in it that match. WholeWord says that each word of the query stands in the
// entry as a word of its own.
type Hit struct {
	RecordID       string `json:"id"`
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
	TS             string `json:"ts"`
	Role           string `json:"role"`
	Tool           string `json:"tool,omitzero"`
	WholeWord      bool   `json:"whole_word"`
	Snippet        string `json:"snippet"`
	Matches        []Span `json:"matches"`
	order          int64
}

// Search finds the entries whose content holds every word of the query, in any place and order. A word is what stands
// between blanks, taken as it is: no character has a special meaning, and letter case does not matter. Entries in which
// all of them are whole words come first, then those that hold them as parts of words; among equals the newest first.
// A query without a word is ErrEmptyQuery; no other query is an error.
//
// The time is bounded by the limit for words that are common, and by the number of candidates for words that are rare.
// Parts of words of less than three letters have no index: entries are read until enough are found.
func (s *Store) Search(query string, o SearchOptions) ([]Hit, error) {
	terms := termsOf(query)
	if len(terms) == 0 {
		return nil, envelope.Errorf(envelope.ExitUsage, "empty_query", "search memory: %w", ErrEmptyQuery).
			WithHint("give at least one word")
	}
	if o.Limit <= 0 {
		o.Limit = DefaultHits
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := search{store: s, matcher: newMatcher(terms), limit: min(o.Limit, MaxHits)}
	if err := run.find(terms, o.ConversationID); err != nil {
		return nil, fmt.Errorf("search memory %s: %w", s.path, err)
	}
	return run.hits(), nil
}

// search is one run of Search. The indexes only propose candidates; the matcher decides.
type search struct {
	store        *Store
	matcher      *matcher
	limit        int
	words, parts []Hit
}

const (
	hitColumns = `SELECT e.content, e.id, e.record_id, e.conversation_id, e.turn_id, e.ts, e.role, e.tool FROM `
	fromWords  = hitColumns + `entry_words CROSS JOIN entries e ON e.id = entry_words.rowid
		WHERE entry_words MATCH ? ORDER BY entry_words.rowid DESC`
	fromTrigrams = hitColumns + `entry_trigrams CROSS JOIN entries e ON e.id = entry_trigrams.rowid
		WHERE entry_trigrams MATCH ? ORDER BY entry_trigrams.rowid DESC`
	fromAll          = hitColumns + `entries e WHERE e.content <> '' ORDER BY e.id DESC`
	fromConversation = hitColumns + `entries e WHERE e.conversation_id = ? AND e.content <> '' ORDER BY e.id DESC`
)

func (r *search) find(terms []string, conversation string) error {
	if conversation != "" {
		return r.collect(true, true, fromConversation, conversation)
	}
	if err := r.store.registerFTS(); err != nil {
		return err
	}
	if q := wordQuery(terms); q != "" {
		if err := r.collect(true, false, fromWords, q); err != nil || len(r.words) >= r.limit {
			return err
		}
	}
	if q := trigramQuery(terms); q != "" {
		return r.collect(false, true, fromTrigrams, q)
	}
	return r.collect(false, true, fromAll)
}

// collect takes matches, newest first. With wordsFirst it goes on until there are enough whole words, else until there
// are enough of both together.
func (r *search) collect(wordsFirst, takeParts bool, sql string, args ...any) error {
	known := map[int64]bool{}
	for _, h := range r.words {
		known[h.order] = true
	}
	return r.store.query(sql, func(st *sqlite3.Stmt) error {
		content := st.ColumnRawText(0)
		found, whole := r.matcher.match(content)
		switch id := st.ColumnInt64(1); {
		case !found || known[id]:
		case whole:
			r.words = append(r.words, r.hit(st, content, true))
		case takeParts && len(r.parts) < r.limit:
			r.parts = append(r.parts, r.hit(st, content, false))
		}
		if len(r.words) >= r.limit || !wordsFirst && len(r.words)+len(r.parts) >= r.limit {
			return errStop
		}
		return nil
	}, args...)
}

func (r *search) hit(st *sqlite3.Stmt, content []byte, whole bool) Hit {
	snippet, matches := r.matcher.snippet(content)
	return Hit{order: st.ColumnInt64(1), RecordID: st.ColumnText(2), ConversationID: st.ColumnText(3),
		TurnID: st.ColumnText(4), TS: st.ColumnText(5), Role: st.ColumnText(6), Tool: st.ColumnText(7),
		WholeWord: whole, Snippet: snippet, Matches: matches}
}

func (r *search) hits() []Hit {
	slices.SortFunc(r.words, func(a, b Hit) int { return cmp.Compare(b.order, a.order) })
	all := append(r.words, r.parts...)
	if all == nil {
		return []Hit{}
	}
	return all[:min(len(all), r.limit)]
}
