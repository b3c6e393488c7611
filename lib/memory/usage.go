package memory

import (
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// UsageOptions choose responses, and what they are counted by: turn, conversation, provider, model or day. Empty texts
// choose all; times are in record.TimeFormat, since is included, until is not.
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
	err := s.query(`SELECT iif(?1 = 'day', day, ''), iif(?1 IN ('turn', 'conversation'), conversation_id, ''), iif(?1 = 'turn', turn_id, ''),
		provider, model, sum(responses), sum(input_tokens), sum(output_tokens) FROM (`+o.rows()+`) WHERE coalesce(?2, ?3, ?4) IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY min(first_entry)`,
		func(st *sqlite3.Stmt) error {
			list = append(list, Usage{Day: st.ColumnText(0), ConversationID: st.ColumnText(1), TurnID: st.ColumnText(2),
				Provider: st.ColumnText(3),
				Model:    st.ColumnText(4), Responses: st.ColumnInt(5), InputTokens: st.ColumnInt64(6),
				OutputTokens: st.ColumnInt64(7)})
			return nil
		}, o.By, o.Conversation, o.Since, o.Until)
	if err != nil {
		return nil, fmt.Errorf("count usage in %s: %w", s.path, err)
	}
	return list, nil
}

// Where the rows come from that are counted: single responses, or sums of them.
const (
	usedEach = `SELECT substr(ts, 1, 10) AS day, conversation_id, turn_id, provider, model, 1 AS responses, input_tokens, output_tokens,
		id AS first_entry FROM entries WHERE input_tokens IS NOT NULL`
	usedDays = `SELECT day, '' AS conversation_id, '' AS turn_id, provider, model, responses, input_tokens, output_tokens, first_entry
		FROM usage_days WHERE `
	usedConversations = `SELECT '' AS day, conversation_id, '' AS turn_id, provider, model, responses, input_tokens, output_tokens, first_entry
		FROM usage_conversations`
	within = ` AND (?3 = '' OR ts >= ?3) AND (?4 = '' OR ts < ?4)`
)

// midnight is what stands behind the day in a time of record.TimeFormat that is the beginning of a day.
const midnight = "T00:00:00.000Z"

// rows is the SQL of what is counted: as far as it can be, sums that are kept. Of a day that is only begun or ended
// within the time, single responses are.
func (o UsageOptions) rows() string {
	switch {
	case o.By == "conversation" && o.Conversation == "" && o.Since == "" && o.Until == "":
		return usedConversations
	case o.Conversation != "":
		return usedEach + ` AND conversation_id = ?2` + within
	case o.By == "turn" || o.By == "conversation":
		return usedEach + within
	}
	first, last := day(o.Since), day(o.Until)
	if first != "" && o.Since != first+midnight {
		first = dayAfter(first)
	}
	if first != "" && last != "" && first >= last {
		return usedEach + within
	}
	sql := usedDays + fmt.Sprintf(`day >= '%s'`, first)
	if last != "" {
		sql += fmt.Sprintf(` AND day < '%s'`, last)
	}
	if first != day(o.Since) {
		sql += ` UNION ALL ` + usedEach + fmt.Sprintf(` AND ts >= ?3 AND ts < '%s'`, first)
	}
	if last != "" && o.Until != last+midnight {
		sql += ` UNION ALL ` + usedEach + fmt.Sprintf(` AND ts >= '%s' AND ts < ?4`, last)
	}
	return sql
}

// day is the day of a time in record.TimeFormat; empty if that is.
func day(at string) string {
	if t, err := time.Parse(record.TimeFormat, at); err == nil {
		return t.Format(time.DateOnly)
	}
	return ""
}

func dayAfter(day string) string {
	t, _ := time.Parse(time.DateOnly, day) // made by day
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}
