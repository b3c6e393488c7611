// Package conversation chooses what a model is sent of a conversation, within a budget, words what replaces the rest,
// and locks conversations during turns.
//
// Choose is a pure function: the agent loop uses it to send a conversation, and claw-mem context to show what would
// be sent. Its result is always a conversation that providers accept: each assistant message with tool calls is
// followed by one result for each call, in order, and there are no other tool messages.
package conversation

import (
	"clawsh/lib/record"
)

// Interrupted is the content of the result that Complete adds for a call without one: the turn ended, or a process
// was killed, before the result came.
const Interrupted = "interrupted, outcome unknown"

// NotRun returns the content of the result of a call that was not run because its turn reached a limit, or "" if the
// turn ended otherwise: then a call without a result was interrupted.
func NotRun(stopReason string) string {
	limit, ok := map[string]string{record.StopMaxToolRounds: "tool rounds", record.StopMaxTokens: "tokens",
		record.StopMaxCost: "cost"}[stopReason]
	if !ok {
		return ""
	}
	return "not run: the turn reached its limit of " + limit
}

// Turn is a user's message and everything up to its answer. Record is the id of the turn's last stored record.
type Turn struct {
	ID       string
	Record   string
	Messages []record.Message
}

// Conversation is a summary of the beginning, if there is one, and the turns after it, oldest first. LeftOut is how
// many turns between the two are not in Turns.
type Conversation struct {
	Summary string
	Turns   []Turn
	LeftOut int
}

// Messages returns the conversation as it is sent to a model: the summary as a message of its own, then the turns.
func (c Conversation) Messages() []record.Message {
	out := []record.Message{}
	if c.Summary != "" {
		out = append(out, SummaryMessage(c.Summary))
	}
	for _, t := range c.Turns {
		out = append(out, t.Messages...)
	}
	return out
}

// Tokens estimates the size of the whole conversation.
func (c Conversation) Tokens() int {
	n := 0
	for _, m := range c.Messages() {
		n += Tokens(m)
	}
	return n
}

// Complete returns the messages of one turn in a form that providers accept. A call without a result gets one that
// says Interrupted; a result without a call is left out, and so is an assistant message with neither text nor calls.
// A result may be anywhere in the turn; of several for one call the last counts. Complete turns are returned
// unchanged.
func Complete(messages []record.Message) []record.Message {
	results := map[string]record.Message{}
	for _, m := range messages {
		if m.Role == "tool" {
			results[m.ToolCallID] = m
		}
	}
	out := make([]record.Message, 0, len(messages))
	for _, m := range messages {
		if m.Role != "user" && (m.Role != "assistant" || m.Content == "" && len(m.ToolCalls) == 0) {
			continue
		}
		if m.Role == "user" {
			m.ToolCalls = nil
		}
		m.ToolCallID = ""
		out = append(out, m)
		for _, c := range m.ToolCalls {
			r, ok := results[c.ID]
			if !ok {
				r = record.Message{Role: "tool", ToolCallID: c.ID, Content: Interrupted, IsError: true}
			}
			r.ToolCalls = nil
			out = append(out, r)
		}
	}
	return out
}
