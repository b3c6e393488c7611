package memory

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"clawsh/lib/record"
)

// metadata of a response and of a final, as stored. A tool result's metadata is its record.ResultMeta, a user message's
// is the user's own.
type (
	responseMeta struct {
		RequestID    string       `json:"request_id,omitzero"`
		FinishReason string       `json:"finish_reason,omitzero"`
		Usage        record.Usage `json:"usage"`
		CallsCut     int          `json:"calls_cut,omitzero"`
		Reasoning    string       `json:"reasoning,omitzero"`
		// Original is what goes back to the provider that sent it.
		Original *record.Original `json:"original,omitzero"`
	}
	finalMeta struct {
		StopReason     string              `json:"stop_reason"`
		FinishReason   string              `json:"finish_reason,omitzero"`
		Rounds         int                 `json:"rounds"`
		CancelObserved bool                `json:"cancel_observed,omitzero"`
		Usage          record.Usage        `json:"usage"`
		Denials        []record.Denial     `json:"denials,omitzero"`
		Receipts       []string            `json:"receipts,omitzero"`
		ProjectFile    *record.ProjectFile `json:"project_file,omitzero"`
		Error          string              `json:"error,omitzero"`
		ErrorCode      string              `json:"error_code,omitzero"`
		Hint           string              `json:"hint,omitzero"`
	}
	summaryMeta struct {
		ThroughTurnID   string       `json:"through_turn_id"`
		ThroughRecordID string       `json:"through_record_id"`
		Turns           int          `json:"turns"`
		Usage           record.Usage `json:"usage"`
	}
)

// entryOf makes the entry of a record of one of the five kinds; agent is the one that the record names, if it does.
func entryOf(line record.Line) (e Entry, agent string, err error) {
	switch line.Kind() {
	case record.KindUser:
		e, agent, err = entryOfUser(line)
	case record.KindResponse:
		e, err = entryOfResponse(line)
	case record.KindToolResult:
		e, err = entryOfResult(line)
	case record.KindFinal:
		e, agent, err = entryOfFinal(line)
	case record.KindSummary:
		e, agent, err = entryOfSummary(line)
	default:
		return e, "", fmt.Errorf("%s record: %w", line.Kind(), ErrKind)
	}
	if err != nil {
		return e, "", fmt.Errorf("%s record %q: %w", line.Kind(), line.ID(), err)
	}
	e.Kind = line.Kind()
	if e.ID == "" {
		e.ID = record.NewID("rec-")
	}
	if e.ConversationID == "" {
		e.ConversationID = Unfiled
	}
	e.TS = timestamp(e.TS)
	return e, agent, nil
}

func entryOfUser(line record.Line) (Entry, string, error) {
	var u record.User
	if err := record.DecodeOpen(line.Bytes(), &u); err != nil {
		return Entry{}, "", err
	}
	return Entry{ID: u.ID, ConversationID: u.ConversationID, TurnID: u.TurnID, TS: u.TS, Role: "user",
		Content: u.Content, Metadata: u.Metadata}, u.Agent, nil
}

func entryOfResponse(line record.Line) (Entry, error) {
	var r record.Response
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return Entry{}, err
	}
	meta, err := record.Encode(responseMeta{RequestID: r.RequestID, FinishReason: r.FinishReason, Usage: r.Usage, CallsCut: r.CallsCut,
		Reasoning: r.Reasoning, Original: r.Original})
	if len(r.ToolCalls) == 0 {
		r.ToolCalls = nil
	}
	return Entry{ID: r.ID, ConversationID: r.ConversationID, TurnID: r.TurnID, TS: r.TS, Role: "assistant",
		Content: r.FinalText, ToolCalls: r.ToolCalls, Provider: r.Provider, Model: r.Model, Metadata: meta, usage: &r.Usage}, err
}

func entryOfResult(line record.Line) (Entry, error) {
	var r record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return Entry{}, err
	}
	content := r.Output
	if r.Error != "" {
		if content != "" {
			content += "\n"
		}
		content += r.Error
	}
	if r.Verdict != nil {
		r.Verdict.Permit = ""
	}
	if string(r.Args) == "null" { // as export writes what is missing
		r.Args = nil
	}
	meta, err := record.Encode(r.Metadata)
	return Entry{ID: r.ID, ConversationID: r.ConversationID, TurnID: r.TurnID, TS: r.TS, Role: "tool",
		Content: content, Tool: r.Tool, ReceiptID: r.ReceiptID, Metadata: meta,
		ToolResults: []Result{{ID: r.ID, Tool: r.Tool, Args: r.Args, Status: r.Status, Success: r.Success,
			OutputBytes: len(r.Output), Error: r.Error, Verdict: r.Verdict}}}, err
}

func entryOfFinal(line record.Line) (Entry, string, error) {
	var f record.Final
	if err := record.DecodeOpen(line.Bytes(), &f); err != nil {
		return Entry{}, "", err
	}
	meta, err := record.Encode(finalMeta{StopReason: f.StopReason, FinishReason: f.FinishReason, Rounds: f.Rounds, CancelObserved: f.CancelObserved,
		Usage: f.Usage, Denials: f.Denials, Receipts: f.Receipts, ProjectFile: f.ProjectFile, Error: f.Error, ErrorCode: f.ErrorCode, Hint: f.Hint})
	return Entry{ID: f.ID, ConversationID: f.ConversationID, TurnID: f.TurnID, TS: f.TS, Role: "assistant",
		Content: f.Content, Provider: f.Provider, Model: f.Model, Metadata: meta}, f.Agent, err
}

// output takes a tool result's output out of its content, which is the output, a newline if there is an output, and the error.
// Contents that were written before lack a newline at the beginning if the output began with one.
func (e *Entry) output(r Result) string {
	n := r.OutputBytes
	switch {
	case 0 <= n && n <= len(e.Content) && (r.Error == "" || n == 0 || len(e.Content) == n+1+len(r.Error)):
		return e.Content[:n]
	case 0 < n && len(e.Content) == n+len(r.Error):
		return "\n" + e.Content[:n-1]
	}
	return strings.TrimSuffix(strings.TrimSuffix(e.Content, r.Error), "\n")
}

// tokens are what a response used, for the input or the output; nil for entries that used none.
func (e *Entry) tokens(input bool) any {
	switch {
	case e.usage == nil:
		return nil
	case input:
		return countable(e.usage.InputTokens)
	}
	return countable(e.usage.OutputTokens)
}

// maxCountable bounds the tokens of a response as they are counted, so that no sum of them overflows, which SQLite makes an
// error of: one answer of a strange provider would be the end of all counting. Metadata has what was reported.
const maxCountable = 1 << 40

func countable(n int64) int64 { return min(max(n, 0), maxCountable) }

func entryOfSummary(line record.Line) (Entry, string, error) {
	var s record.Summary
	if err := record.DecodeOpen(line.Bytes(), &s); err != nil {
		return Entry{}, "", err
	}
	if s.Content == "" || s.ThroughTurnID == "" || s.ThroughRecordID == "" {
		return Entry{}, "", errors.New("it needs content, through_turn_id and through_record_id")
	}
	meta, err := record.Encode(summaryMeta{ThroughTurnID: s.ThroughTurnID, ThroughRecordID: s.ThroughRecordID, Turns: s.Turns, Usage: s.Usage})
	return Entry{ID: s.ID, ConversationID: s.ConversationID, TurnID: s.TurnID, TS: s.TS, Role: "assistant",
		Content: s.Content, Provider: s.Provider, Model: s.Model, Metadata: meta, usage: &s.Usage}, s.Agent, err
}

// timestamp returns ts in record.TimeFormat, so that timestamps sort as text; the current time if ts is no RFC 3339.
func timestamp(ts string) string {
	t, err := time.Parse(time.RFC3339Nano, ts)
	if err != nil {
		return record.Now()
	}
	return t.UTC().Format(record.TimeFormat)
}

// titleOf returns the start of a user message on one line, at most 80 runes.
func titleOf(content string) string {
	const maxRunes = 80
	if len(content) > 8*maxRunes*utf8.UTFMax {
		content = content[:8*maxRunes*utf8.UTFMax]
	}
	runes := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(content), " "), ""))
	if len(runes) > maxRunes {
		runes = append(runes[:maxRunes-1], '…')
	}
	return string(runes)
}
