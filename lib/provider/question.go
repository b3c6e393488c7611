package provider

import (
	"strings"

	"clawsh/lib/record"
)

// What /chat/completions takes.
type (
	question struct {
		Model         string         `json:"model"`
		Messages      []message      `json:"messages"`
		Tools         []function     `json:"tools,omitzero"`
		Temperature   *float64       `json:"temperature,omitzero"`
		MaxTokens     int            `json:"max_tokens,omitzero"`
		Stream        bool           `json:"stream,omitzero"`
		StreamOptions *streamOptions `json:"stream_options,omitzero"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	message struct {
		Role       string    `json:"role"`
		Content    *string   `json:"content"`
		ToolCalls  []callOut `json:"tool_calls,omitzero"`
		ToolCallID string    `json:"tool_call_id,omitzero"`
	}
	function struct {
		Type     string      `json:"type"`
		Function record.Tool `json:"function"`
	}
	callOut struct {
		ID       string      `json:"id"`
		Type     string      `json:"type"`
		Function functionOut `json:"function"`
	}
	functionOut struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// question translates a request. What it says of model and temperature goes before the configuration.
func (c *chat) question(req *record.Request, stream bool) *question {
	q := &question{Model: req.Model, Temperature: req.Temperature, MaxTokens: c.maxTokens, Stream: stream, Messages: []message{}}
	if q.Model == "" {
		q.Model = c.model
	}
	if q.Temperature == nil {
		q.Temperature = c.temperature
	}
	if stream {
		q.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if req.SystemPrompt != "" {
		q.Messages = append(q.Messages, message{Role: "system", Content: &req.SystemPrompt})
	}
	for _, m := range req.Messages {
		q.Messages = append(q.Messages, translate(m))
	}
	for _, t := range req.Tools {
		if len(t.Parameters) == 0 {
			t.Parameters = record.Raw(`{"type":"object","properties":{}}`)
		}
		q.Tools = append(q.Tools, function{"function", t})
	}
	return q
}

// errorMark begins the result of a tool that failed: the protocol has no field for it.
const errorMark = "error: "

// translate translates one message. Arguments go back as the text that the model wrote.
func translate(m record.Message) message {
	out := message{Role: m.Role, Content: &m.Content, ToolCallID: m.ToolCallID}
	if m.IsError && !strings.HasPrefix(m.Content, errorMark) {
		text := errorMark + m.Content
		out.Content = &text
	}
	if m.Content == "" && len(m.ToolCalls) > 0 {
		out.Content = nil
	}
	for _, t := range m.ToolCalls {
		args, malformed := asText(t.Args)
		if !malformed {
			args = string(t.Args)
		}
		if args == "" && !malformed {
			args = "{}"
		}
		out.ToolCalls = append(out.ToolCalls, callOut{t.ID, "function", functionOut{t.Name, args}})
	}
	return out
}
