package memory

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// ExportOptions choose what is exported. Empty is everything; times are in record.TimeFormat.
type ExportOptions struct{ Conversation, Since, Until string }

// Export gives each stored record, in the order in which they came, to write: as the record that it was, as far as it is
// stored. A response has no provider's payload, a verdict no permit, and what was withheld stays withheld. Before the first
// record of a conversation comes one of kind conversation, with what the others do not say. The memory is not held while
// write writes: what is deleted meanwhile may be missing, what is added is not in it.
func (s *Store) Export(o ExportOptions, write func(line []byte) error) error {
	if o.Conversation != "" {
		id, err := s.Resolve(o.Conversation)
		if err != nil {
			return err
		}
		o.Conversation = id
	}
	end, err := s.lastEntry()
	if err != nil {
		return fmt.Errorf("export %s: %w", s.path, err)
	}
	seen, last := map[string]bool{}, int64(0)
	for {
		lines, next, err := s.page(o, last, end, seen)
		if err != nil {
			return fmt.Errorf("export %s: %w", s.path, err)
		}
		for _, line := range lines {
			if err := write(line); err != nil {
				return fmt.Errorf("export %s: %w", s.path, err)
			}
		}
		if next == last {
			return nil
		}
		last = next
	}
}

func (s *Store) lastEntry() (id int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.query(`SELECT coalesce(max(id), 0) FROM entries`, func(st *sqlite3.Stmt) error { id = st.ColumnInt64(0); return nil })
	return id, err
}

// A page of an export is at most so many records, and ends with the record that makes it larger than so many bytes.
const (
	pageRecords = 1000
	pageBytes   = 4 << 20
)

// page returns the records behind the entry last, up to the entry end, and which entry is the last of them; the same one means that there are
// no more.
func (s *Store) page(o ExportOptions, last, end int64, seen map[string]bool) (lines [][]byte, next int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var begun []string
	next, size := last, 0
	err = s.query(`SELECT record_id, conversation_id, turn_id, ts, kind, role, content, tool_calls, tool_results, tool,
		provider, model, receipt_id, metadata, id FROM entries WHERE id > ?4 AND id <= ?6 AND ?1 IN ('', conversation_id)
		AND (?2 = '' OR ts >= ?2) AND (?3 = '' OR ts < ?3) ORDER BY id LIMIT ?5`,
		func(st *sqlite3.Stmt) error {
			e, err := scanEntry(st)
			if err != nil {
				return err
			}
			line, err := e.record()
			if err != nil {
				return fmt.Errorf("record %q: %w", e.ID, err)
			}
			if !seen[e.ConversationID] {
				seen[e.ConversationID] = true
				begun = append(begun, e.ConversationID)
				lines = append(lines, nil) // its place
			}
			lines, next, size = append(lines, line), st.ColumnInt64(14), size+len(line)
			if size >= pageBytes {
				return errStop
			}
			return nil
		}, o.Conversation, o.Since, o.Until, last, pageRecords, end)
	if err != nil {
		return nil, last, err
	}
	lines, err = s.conversationLines(lines, begun)
	return lines, next, err
}

// conversationLines puts the records of conversations in the places that were left for them.
func (s *Store) conversationLines(lines [][]byte, begun []string) ([][]byte, error) {
	for i, line := range lines {
		if line != nil {
			continue
		}
		conv, err := s.conversation(begun[0])
		if errors.Is(err, ErrNotFound) { // deleted meanwhile
			conv, err = &Conversation{ID: begun[0], Agent: DefaultAgent}, nil
		}
		if err != nil {
			return nil, err
		}
		begun = begun[1:]
		lines[i], err = record.Encode(record.Conversation{V: record.Version, Kind: record.KindConversation, ConversationID: conv.ID, TS: conv.StartedAt,
			Agent: conv.Agent, ArchivedAt: conv.ArchivedAt})
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// record is the record that an entry was made of.
func (e *Entry) record() ([]byte, error) {
	conversation := e.ConversationID
	if conversation == Unfiled {
		conversation = ""
	}
	switch e.Kind {
	case record.KindUser:
		return record.Encode(record.User{V: record.Version, Kind: e.Kind, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID, TS: e.TS, Content: e.Content, Metadata: e.Metadata})
	case record.KindResponse:
		var m responseMeta
		if err := decodeMeta(e.Metadata, &m); err != nil {
			return nil, err
		}
		calls := e.ToolCalls
		if calls == nil {
			calls = []record.CallPart{}
		}
		return record.Encode(record.Response{V: record.Version, Kind: e.Kind, ID: e.ID, RequestID: m.RequestID, ConversationID: conversation, TurnID: e.TurnID, TS: e.TS,
			Provider: e.Provider, Model: e.Model, FinalText: e.Content, ToolCalls: calls, FinishReason: m.FinishReason, Usage: m.Usage, CallsCut: m.CallsCut, Reasoning: m.Reasoning, Original: m.Original})
	case record.KindToolResult:
		return e.result(conversation)
	case record.KindSummary:
		return e.summary(conversation)
	}
	var m finalMeta
	if err := decodeMeta(e.Metadata, &m); err != nil {
		return nil, err
	}
	f := record.Final{V: record.Version, Kind: record.KindFinal, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID, TS: e.TS, Provider: e.Provider, Model: e.Model,
		Content: e.Content, Rounds: m.Rounds, StopReason: m.StopReason, FinishReason: m.FinishReason, CancelObserved: m.CancelObserved, Usage: m.Usage, Denials: m.Denials, Receipts: m.Receipts,
		ProjectFile: m.ProjectFile, Error: m.Error, ErrorCode: m.ErrorCode, Hint: m.Hint}
	if f.Denials == nil {
		f.Denials = []record.Denial{}
	}
	if f.Receipts == nil {
		f.Receipts = []string{}
	}
	return record.Encode(f)
}

func (e *Entry) summary(conversation string) ([]byte, error) {
	var m summaryMeta
	if err := decodeMeta(e.Metadata, &m); err != nil {
		return nil, err
	}
	return record.Encode(record.Summary{V: record.Version, Kind: e.Kind, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID, TS: e.TS, Provider: e.Provider,
		Model: e.Model, Content: e.Content, ThroughTurnID: m.ThroughTurnID, ThroughRecordID: m.ThroughRecordID, Turns: m.Turns, Usage: m.Usage})
}

func (e *Entry) result(conversation string) ([]byte, error) {
	r := record.ToolResult{V: record.Version, Kind: record.KindToolResult, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID, TS: e.TS, Tool: e.Tool,
		Args: record.Raw("{}"), Output: e.Content, ReceiptID: e.ReceiptID}
	if err := decodeMeta(e.Metadata, &r.Metadata); err != nil {
		return nil, err
	}
	if len(e.ToolResults) > 0 {
		t := e.ToolResults[0]
		r.Args, r.Status, r.Success, r.Error, r.Verdict = t.Args, t.Status, t.Success, t.Error, t.Verdict
		r.Output = e.output(t)
	}
	return record.Encode(r)
}

func decodeMeta(raw record.Raw, v any) error {
	if len(raw) == 0 {
		return nil
	}
	return record.DecodeOpen(raw, v)
}
