package memory

import (
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/record"
)

// form is how the memory keeps records of a kind: how they become entries and entries become records again. Event is
// what a trace calls them, and tell what it says of one. Of an entry that is not said, a session has no line.
type form struct {
	role   string
	entry  func(record.Line) (e Entry, agent string, err error)
	record func(e *Entry, conversation string) (any, error)
	event  string
	tell   func(*Entry) string
	said   func(*Entry) bool
}

// forms has a row for each kind that record.KindsWith says is stored.
var forms = map[record.Kind]form{
	record.KindUser:       {"user", entryOfUser, userOf, "user_input", content, always},
	record.KindResponse:   {"assistant", entryOfResponse, responseOf, "response", tellResponse, always},
	record.KindToolResult: {"tool", entryOfResult, resultOf, "tool_result", tellResult, always},
	record.KindFinal:      {"assistant", entryOfFinal, finalOf, "final", tellFinal, endsOtherwise},
	record.KindSummary:    {"assistant", entryOfSummary, summaryOf, "summary", content, never},
}

func content(e *Entry) string { return e.Content }

func always(*Entry) bool { return true }

// never: what a summary stands for is there.
func never(*Entry) bool { return false }

// endsOtherwise is said of a final that does not just repeat the answer.
func endsOtherwise(e *Entry) bool { return e.final().StopReason != record.StopFinalText }

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

func entryOfUser(line record.Line) (Entry, string, error) {
	var u record.User
	if err := record.DecodeOpen(line.Bytes(), &u); err != nil {
		return Entry{}, "", err
	}
	return Entry{ID: u.ID, ConversationID: u.ConversationID, TurnID: u.TurnID, TS: u.TS,
		Content: u.Content, Metadata: u.Metadata}, u.Agent, nil
}

func entryOfResponse(line record.Line) (Entry, string, error) {
	var r record.Response
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return Entry{}, "", err
	}
	meta, err := record.Encode(responseMeta{RequestID: r.RequestID, FinishReason: r.FinishReason, Usage: r.Usage,
		CallsCut:  r.CallsCut,
		Reasoning: r.Reasoning, Original: r.Original})
	if len(r.ToolCalls) == 0 {
		r.ToolCalls = nil
	}
	return Entry{ID: r.ID, ConversationID: r.ConversationID, TurnID: r.TurnID, TS: r.TS,
		Content: r.FinalText, ToolCalls: r.ToolCalls, Provider: r.Provider, Model: r.Model, Metadata: meta,
		usage: &r.Usage}, "", err
}

func entryOfResult(line record.Line) (Entry, string, error) {
	var r record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		return Entry{}, "", err
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
	return Entry{ID: r.ID, ConversationID: r.ConversationID, TurnID: r.TurnID, TS: r.TS,
		Content: content, Tool: r.Tool, ReceiptID: r.ReceiptID, Metadata: meta,
		ToolResults: []Result{{ID: r.ID, Tool: r.Tool, Args: r.Args, Status: r.Status, Success: r.Success,
			OutputBytes: len(r.Output), Error: r.Error, Verdict: r.Verdict}}}, "", err
}

func entryOfFinal(line record.Line) (Entry, string, error) {
	var f record.Final
	if err := record.DecodeOpen(line.Bytes(), &f); err != nil {
		return Entry{}, "", err
	}
	meta, err := record.Encode(finalMeta{StopReason: f.StopReason, FinishReason: f.FinishReason, Rounds: f.Rounds,
		CancelObserved: f.CancelObserved,
		Usage:          f.Usage, Denials: f.Denials, Receipts: f.Receipts, ProjectFile: f.ProjectFile, Error: f.Error,
		ErrorCode: f.ErrorCode, Hint: f.Hint})
	return Entry{ID: f.ID, ConversationID: f.ConversationID, TurnID: f.TurnID, TS: f.TS,
		Content: f.Content, Provider: f.Provider, Model: f.Model, Metadata: meta}, f.Agent, err
}

func entryOfSummary(line record.Line) (Entry, string, error) {
	var s record.Summary
	if err := record.DecodeOpen(line.Bytes(), &s); err != nil {
		return Entry{}, "", err
	}
	if s.Content == "" || s.ThroughTurnID == "" || s.ThroughRecordID == "" {
		return Entry{}, "", errors.New("it needs content, through_turn_id and through_record_id")
	}
	meta, err := record.Encode(summaryMeta{ThroughTurnID: s.ThroughTurnID, ThroughRecordID: s.ThroughRecordID,
		Turns: s.Turns, Usage: s.Usage})
	return Entry{ID: s.ID, ConversationID: s.ConversationID, TurnID: s.TurnID, TS: s.TS,
		Content: s.Content, Provider: s.Provider, Model: s.Model, Metadata: meta, usage: &s.Usage}, s.Agent, err
}

func userOf(e *Entry, conversation string) (any, error) {
	return record.User{V: record.Version, Kind: e.Kind, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID,
		TS: e.TS, Content: e.Content, Metadata: e.Metadata}, nil
}

func responseOf(e *Entry, conversation string) (any, error) {
	var m responseMeta
	if err := decodeMeta(e.Metadata, &m); err != nil {
		return nil, err
	}
	calls := e.ToolCalls
	if calls == nil {
		calls = []record.CallPart{}
	}
	return record.Response{V: record.Version, Kind: e.Kind, ID: e.ID, RequestID: m.RequestID,
		ConversationID: conversation, TurnID: e.TurnID, TS: e.TS,
		Provider: e.Provider, Model: e.Model, FinalText: e.Content, ToolCalls: calls, FinishReason: m.FinishReason,
		Usage: m.Usage, CallsCut: m.CallsCut,
		Reasoning: m.Reasoning, Original: m.Original}, nil
}

func finalOf(e *Entry, conversation string) (any, error) {
	var m finalMeta
	if err := decodeMeta(e.Metadata, &m); err != nil {
		return nil, err
	}
	if m.Denials == nil {
		m.Denials = []record.Denial{}
	}
	if m.Receipts == nil {
		m.Receipts = []string{}
	}
	return record.Final{V: record.Version, Kind: e.Kind, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID,
		TS: e.TS, Provider: e.Provider, Model: e.Model,
		Content: e.Content, Rounds: m.Rounds, StopReason: m.StopReason, FinishReason: m.FinishReason,
		CancelObserved: m.CancelObserved, Usage: m.Usage,
		Denials: m.Denials, Receipts: m.Receipts, ProjectFile: m.ProjectFile, Error: m.Error, ErrorCode: m.ErrorCode,
		Hint: m.Hint}, nil
}

func summaryOf(e *Entry, conversation string) (any, error) {
	var m summaryMeta
	if err := decodeMeta(e.Metadata, &m); err != nil {
		return nil, err
	}
	return record.Summary{V: record.Version, Kind: e.Kind, ID: e.ID, ConversationID: conversation, TurnID: e.TurnID,
		TS: e.TS, Provider: e.Provider,
		Model: e.Model, Content: e.Content, ThroughTurnID: m.ThroughTurnID, ThroughRecordID: m.ThroughRecordID,
		Turns: m.Turns, Usage: m.Usage}, nil
}

func resultOf(e *Entry, conversation string) (any, error) {
	r := record.ToolResult{V: record.Version, Kind: record.KindToolResult, ID: e.ID, ConversationID: conversation,
		TurnID: e.TurnID, TS: e.TS, Tool: e.Tool,
		Args: record.Raw("{}"), Output: e.Content, ReceiptID: e.ReceiptID}
	if err := decodeMeta(e.Metadata, &r.Metadata); err != nil {
		return nil, err
	}
	if len(e.ToolResults) > 0 {
		t := e.ToolResults[0]
		r.Args, r.Status, r.Success, r.Error, r.Verdict = t.Args, t.Status, t.Success, t.Error, t.Verdict
		r.Output = e.output(t)
	}
	return r, nil
}

func tellResponse(e *Entry) string {
	if len(e.ToolCalls) == 0 {
		return e.Content
	}
	var names []string
	for _, c := range e.ToolCalls {
		names = append(names, c.Name)
	}
	return "calls " + strings.Join(names, ", ")
}

func tellResult(e *Entry) string {
	r := e.ToolResults[0]
	if r.Error != "" {
		return r.Tool + " " + r.Status + ": " + r.Error
	}
	return r.Tool + " " + r.Status
}

func tellFinal(e *Entry) string {
	f := e.final()
	message := fmt.Sprintf("%s, rounds %d", f.StopReason, f.Rounds)
	if p := f.ProjectFile; p != nil {
		message += fmt.Sprintf(", %s sha256 %s", p.Name, p.SHA256)
	}
	return message
}
