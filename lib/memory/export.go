package memory

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// ExportOptions choose what is exported. Empty is everything; times are in record.TimeFormat.
type ExportOptions struct{ Conversation, Since, Until string }

// Export gives each stored record, in the order in which they came, to write: as the record that it was, as far as it is
// stored. A response has no provider's payload, a verdict no permit, and what was withheld stays withheld. It holds one record
// at a time.
func (s *Store) Export(o ExportOptions, write func(line []byte) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Conversation != "" {
		id, err := s.resolve(o.Conversation)
		if err != nil {
			return err
		}
		o.Conversation = id
	}
	err := s.query(`SELECT record_id, conversation_id, turn_id, ts, kind, role, content, tool_calls, tool_results, tool,
		provider, model, receipt_id, metadata FROM entries WHERE ?1 IN ('', conversation_id) AND (?2 = '' OR ts >= ?2) AND (?3 = '' OR ts < ?3) ORDER BY id`,
		func(st *sqlite3.Stmt) error {
			e, err := scanEntry(st)
			if err != nil {
				return err
			}
			line, err := e.record()
			if err != nil {
				return fmt.Errorf("record %q: %w", e.ID, err)
			}
			return write(line)
		}, o.Conversation, o.Since, o.Until)
	if err != nil {
		return fmt.Errorf("export %s: %w", s.path, err)
	}
	return nil
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
			Provider: e.Provider, Model: e.Model, FinalText: e.Content, ToolCalls: calls, FinishReason: m.FinishReason, Usage: m.Usage})
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
		Content: e.Content, Rounds: m.Rounds, StopReason: m.StopReason, CancelObserved: m.CancelObserved, Usage: m.Usage, Denials: m.Denials, Receipts: m.Receipts,
		Error: m.Error, ErrorCode: m.ErrorCode, Hint: m.Hint}
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
		if t.Error != "" { // they are stored one behind the other
			r.Output = strings.TrimSuffix(strings.TrimSuffix(e.Content, t.Error), "\n")
		}
	}
	return record.Encode(r)
}

func decodeMeta(raw record.Raw, v any) error {
	if len(raw) == 0 {
		return nil
	}
	return record.DecodeOpen(raw, v)
}
