package memory

import (
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// UsageOptions choose responses, and what they are counted by: turn, conversation, provider, model or day. Empty texts choose
// all; times are in record.TimeFormat, since is included, until is not.
type UsageOptions struct{ By, Conversation, Since, Until string }

// Usage is what responses used that have the named fields in common. Tokens are those that the provider reported.
type Usage struct {
	Day            string `json:"day,omitzero"`
	ConversationID string `json:"conversation_id,omitzero"`
	TurnID         string `json:"turn_id,omitzero"`
	Provider       string `json:"provider,omitzero"`
	Model          string `json:"model,omitzero"`
	Responses      int    `json:"responses"`
	InputTokens    int64  `json:"input_tokens"`
	OutputTokens   int64  `json:"output_tokens"`
}

// UsageKeys are the values of UsageOptions.By.
func UsageKeys() []string { return []string{"turn", "conversation", "provider", "model", "day"} }

// Usage counts tokens, in the order in which they were first used. All rows name provider and model, whatever they are
// counted by, so that each has one price.
func (s *Store) Usage(o UsageOptions) ([]Usage, error) {
	if !slices.Contains(UsageKeys(), o.By) {
		return nil, fmt.Errorf("usage by %q: want one of %q", o.By, UsageKeys())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Conversation != "" {
		id, err := s.resolve(o.Conversation)
		if err != nil {
			return nil, err
		}
		o.Conversation = id
	}
	list := []Usage{}
	err := s.query(`SELECT iif(?1 = 'day', substr(ts, 1, 10), '') AS day, iif(?1 IN ('turn', 'conversation'), conversation_id, '') AS conversation,
		iif(?1 = 'turn', turn_id, '') AS turn, provider, model, count(*), sum(input_tokens), sum(output_tokens)
		FROM entries WHERE input_tokens IS NOT NULL AND ?2 IN ('', conversation_id) AND (?3 = '' OR ts >= ?3) AND (?4 = '' OR ts < ?4)
		GROUP BY 1, 2, 3, 4, 5 ORDER BY min(id)`,
		func(st *sqlite3.Stmt) error {
			list = append(list, Usage{Day: st.ColumnText(0), ConversationID: st.ColumnText(1), TurnID: st.ColumnText(2), Provider: st.ColumnText(3),
				Model: st.ColumnText(4), Responses: st.ColumnInt(5), InputTokens: st.ColumnInt64(6), OutputTokens: st.ColumnInt64(7)})
			return nil
		}, o.By, o.Conversation, o.Since, o.Until)
	if err != nil {
		return nil, fmt.Errorf("count usage in %s: %w", s.path, err)
	}
	return list, nil
}
