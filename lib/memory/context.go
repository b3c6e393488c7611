package memory

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// Interrupted is the content of the tool message that Context gives for a call that has no result: the turn was ended,
// or a process was killed, before it came.
const Interrupted = "interrupted, outcome unknown"

// Context returns the recent turns of a conversation as messages for a model, oldest first, as many whole turns as fit
// into both budgets; 0 or less means no budget. MaxBytes counts contents, names and arguments. The newest turn is
// returned even if it alone is over. An unknown conversation has no messages; that is no error.
//
// Whatever was stored, the calls of each assistant message are followed by one tool message each, in the order of the
// calls. A call without a result gets one that says Interrupted; a result without a call is left out, and so is a
// response with neither text nor calls. What a final says beyond the turn's last response follows it as a message.
func (s *Store) Context(conversationID string, maxMessages, maxBytes int) ([]record.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turns, err := s.recentTurns(conversationID)
	if err != nil {
		return nil, fmt.Errorf("recent turns of %s: %w", conversationID, err)
	}
	var out []record.Message
	bytes := 0
	for _, turn := range turns {
		entries, err := s.entries(`WHERE conversation_id = ? AND turn_id = ? ORDER BY id`, conversationID, turn)
		if err != nil {
			return nil, fmt.Errorf("turn %s of %s: %w", turn, conversationID, err)
		}
		messages := messagesOf(entries)
		bytes += sizeOf(messages)
		full := maxMessages > 0 && len(out)+len(messages) > maxMessages || maxBytes > 0 && bytes > maxBytes
		if full && len(out) > 0 {
			break
		}
		out = append(messages, out...)
		if full {
			break
		}
	}
	return out, nil
}

// recentTurns lists a conversation's turns, the one that began last first.
func (s *Store) recentTurns(conversationID string) ([]string, error) {
	var turns []string
	err := s.query(`SELECT turn_id FROM entries WHERE conversation_id = ? GROUP BY turn_id ORDER BY min(id) DESC`,
		func(st *sqlite3.Stmt) error {
			turns = append(turns, st.ColumnText(0))
			return nil
		}, conversationID)
	return turns, err
}

// messagesOf makes the messages of one turn.
func messagesOf(entries []Entry) []record.Message {
	results := map[string]record.Message{}
	for _, e := range entries {
		for _, r := range e.ToolResults {
			results[r.ID] = record.Message{Role: "tool", ToolCallID: r.ID, Content: e.Content, IsError: !r.Success}
		}
	}
	var out []record.Message
	for _, e := range entries {
		if e.Role == "tool" || e.Content == "" && len(e.ToolCalls) == 0 {
			continue
		}
		out = append(out, record.Message{Role: e.Role, Content: e.Content, ToolCalls: e.ToolCalls})
		for _, call := range e.ToolCalls {
			result, ok := results[call.ID]
			if !ok {
				result = record.Message{Role: "tool", ToolCallID: call.ID, Content: Interrupted, IsError: true}
			}
			out = append(out, result)
		}
	}
	return out
}

func sizeOf(messages []record.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Content)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Args)
		}
	}
	return n
}
