package memory

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// ExportOptions choose what is exported. Empty is everything; times are in record.TimeFormat.
type ExportOptions struct{ Conversation, Since, Until string }

// Export gives each stored record, in the order in which they came, to write: as the record that it was, as far as it
// is stored. A response has no provider's payload, a verdict no permit, and what was withheld stays withheld. Before
// the first record of a conversation comes one of kind conversation, with what the others do not say. The memory is not
// held while write writes: what is deleted meanwhile may be missing, what is added is not in it.
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
	err = s.query(`SELECT coalesce(max(id), 0) FROM entries`,
		func(st *sqlite3.Stmt) error { id = st.ColumnInt64(0); return nil })
	return id, err
}

// A page of an export is at most so many records, and ends with the record that makes it larger than so many bytes.
const (
	pageRecords = 1000
	pageBytes   = 4 << 20
)

// page returns the records behind the entry last, up to the entry end, and which entry is the last of them; the same
// one means that there are no more.
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
		lines[i], err = record.Encode(record.Conversation{V: record.Version, Kind: record.KindConversation,
			ConversationID: conv.ID, TS: conv.StartedAt,
			Agent: conv.Agent, ArchivedAt: conv.ArchivedAt})
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// record is the record that an entry was made of.
func (e *Entry) record() ([]byte, error) {
	f, ok := forms[e.Kind]
	if !ok {
		return nil, fmt.Errorf("%s entry: %w", e.Kind, ErrKind)
	}
	conversation := e.ConversationID
	if conversation == Unfiled {
		conversation = ""
	}
	r, err := f.record(e, conversation)
	if err != nil {
		return nil, err
	}
	return record.Encode(r)
}

func decodeMeta(raw record.Raw, v any) error {
	if len(raw) == 0 {
		return nil
	}
	return record.DecodeOpen(raw, v)
}
