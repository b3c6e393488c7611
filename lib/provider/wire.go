package provider

import (
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/record"
)

// What /chat/completions takes.
type (
	chatRequest struct {
		Model         string         `json:"model"`
		Messages      []chatMessage  `json:"messages"`
		Tools         []chatTool     `json:"tools,omitzero"`
		Temperature   *float64       `json:"temperature,omitzero"`
		MaxTokens     int            `json:"max_tokens,omitzero"`
		Stream        bool           `json:"stream,omitzero"`
		StreamOptions *streamOptions `json:"stream_options,omitzero"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    *string    `json:"content"`
		ToolCalls  []chatCall `json:"tool_calls,omitzero"`
		ToolCallID string     `json:"tool_call_id,omitzero"`
	}
	chatTool struct {
		Type     string      `json:"type"`
		Function record.Tool `json:"function"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// What it answers, whole or in pieces.
type (
	completion struct {
		Model   string     `json:"model"`
		Choices []choice   `json:"choices"`
		Usage   *usage     `json:"usage"`
		Error   record.Raw `json:"error"`
	}
	choice struct {
		Index        int       `json:"index"`
		Message      *fragment `json:"message"`
		Delta        *fragment `json:"delta"`
		FinishReason *string   `json:"finish_reason"`
	}
	fragment struct {
		Content   record.Raw  `json:"content"`
		ToolCalls []callPiece `json:"tool_calls"`
	}
	callPiece struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string     `json:"name"`
			Arguments record.Raw `json:"arguments"`
		} `json:"function"`
	}
	usage struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	}
)

// maxCalls bounds the tool calls of one response.
const maxCalls = 64

// request makes the body.
func (c *chat) request(req *record.Request, stream bool) ([]byte, error) {
	out := chatRequest{Model: req.Model, Temperature: req.Temperature, MaxTokens: c.maxTokens, Stream: stream}
	if out.Model == "" {
		out.Model = c.model
	}
	if out.Temperature == nil {
		out.Temperature = c.temperature
	}
	if stream {
		out.StreamOptions = &streamOptions{true}
	}
	if req.SystemPrompt != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: &req.SystemPrompt})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, message(m))
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, chatTool{"function", t})
	}
	return record.Encode(out)
}

// message translates one message. An error of a tool says so: the protocol has no field for it.
func message(m record.Message) chatMessage {
	out := chatMessage{Role: m.Role, Content: &m.Content, ToolCallID: m.ToolCallID}
	if m.IsError {
		text := "error: " + strings.TrimPrefix(m.Content, "error: ")
		out.Content = &text
	}
	if m.Role == "assistant" && m.Content == "" && len(m.ToolCalls) > 0 {
		out.Content = nil
	}
	for _, t := range m.ToolCalls {
		args := string(t.Args)
		if text, ok := asText(t.Args); ok {
			args = text
		}
		out.ToolCalls = append(out.ToolCalls, chatCall{t.ID, "function", chatFunction{t.Name, args}})
	}
	return out
}

// asText returns the text of a JSON string.
func asText(raw record.Raw) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || record.Decode(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// contentText reads content: a text, null, or a list of parts.
func contentText(raw record.Raw) (string, error) {
	if s, ok := asText(raw); ok {
		return s, nil
	}
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := record.DecodeOpen(raw, &parts); err != nil {
		return "", errors.New("content is neither a text nor a list of parts")
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// arguments turns what a model wrote as arguments into args: the object, or, if it is none that can be passed on, the text
// as a JSON string, which the gate refuses with a clear message.
func arguments(text string) (record.Raw, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return record.Raw("{}"), nil
	}
	if line, err := record.Parse([]byte(`{"kind":"args","args":` + text + `}`)); err == nil && text[0] == '{' {
		// the text must be the whole of the value, not a value and members behind it
		if v, _ := line.Field("args"); string(v) == text {
			return record.Encode(record.Raw(text))
		}
	}
	return record.Encode(text)
}

// respond makes the response of a whole answer.
func (a *attempt) respond(m *completion) (*record.Response, error) {
	if len(m.Error) > 0 && string(m.Error) != "null" {
		return nil, a.fail(CodeServer, false, fmt.Errorf("the server reports an error: %.300s", m.Error))
	}
	if len(m.Choices) == 0 || m.Choices[0].Message == nil {
		return nil, a.fail(CodeBadResponse, false, errors.New("the answer has no choices"))
	}
	b := builder{attempt: a}
	b.meta(m)
	if err := b.add(m.Choices[0].Message, m.Choices[0].FinishReason); err != nil {
		return nil, err
	}
	return b.response()
}

// builder puts a response together, from one message or from pieces of it.
type builder struct {
	*attempt
	model  string
	usage  record.Usage
	text   strings.Builder
	calls  []*builtCall
	finish string
}

type builtCall struct {
	index      int
	name, args strings.Builder
}

func (b *builder) meta(m *completion) {
	if m.Model != "" {
		b.model = m.Model
	}
	if m.Usage != nil {
		b.usage = record.Usage{InputTokens: m.Usage.PromptTokens, OutputTokens: m.Usage.CompletionTokens}
	}
}

// add takes a message, or a piece of one.
func (b *builder) add(f *fragment, finish *string) error {
	if finish != nil && *finish != "" {
		b.finish = *finish
	}
	if f == nil {
		return nil
	}
	text, err := contentText(f.Content)
	if err != nil {
		return b.fail(CodeBadResponse, false, err)
	}
	b.text.WriteString(text)
	for i, p := range f.ToolCalls {
		c, err := b.call(p, i)
		if err != nil {
			return err
		}
		if c.name.Len() == 0 {
			c.name.WriteString(p.Function.Name)
		}
		if s, ok := asText(p.Function.Arguments); ok {
			c.args.WriteString(s)
		} else if string(p.Function.Arguments) != "null" {
			c.args.Write(p.Function.Arguments) // some servers send the object itself
		}
	}
	return nil
}

// call finds the call that a piece belongs to: by its index, or by its place if it has none.
func (b *builder) call(p callPiece, place int) (*builtCall, error) {
	index := place
	if p.Index != nil {
		index = *p.Index
	} else if p.ID == "" && len(b.calls) > 0 {
		index = b.calls[len(b.calls)-1].index
	}
	for _, c := range b.calls {
		if c.index == index {
			return c, nil
		}
	}
	if len(b.calls) >= maxCalls {
		return nil, b.fail(CodeBadResponse, false, fmt.Errorf("more than %d tool calls in one answer", maxCalls))
	}
	c := &builtCall{index: index}
	b.calls = append(b.calls, c)
	return c, nil
}

// response ends the building. Nothing at all is an answer only if the model was cut off.
func (b *builder) response() (*record.Response, error) {
	r := &record.Response{Provider: b.attempt.name, Model: b.model, FinalText: b.scrub(b.text.String()), ToolCalls: []record.CallPart{}, Usage: b.usage}
	if r.Model == "" {
		r.Model = b.chat.model
	}
	for _, c := range b.calls {
		args, err := arguments(b.scrub(c.args.String()))
		if err != nil {
			return nil, b.fail(CodeBadResponse, false, err)
		}
		r.ToolCalls = append(r.ToolCalls, record.CallPart{ID: record.NewID("call-"), Name: c.name.String(), Args: args})
	}
	switch {
	case len(r.ToolCalls) > 0:
		r.FinishReason = "tool_calls"
	case b.finish == "length" || b.finish == "content_filter":
		r.FinishReason = b.finish
	case r.FinalText == "":
		return nil, b.fail(CodeBadResponse, true, errors.New("the answer is empty"))
	default:
		r.FinishReason = "stop"
	}
	return r, nil
}
