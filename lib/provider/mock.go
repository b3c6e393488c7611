package provider

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// mock is a model that follows a script. It keeps no state: the request alone decides which step is next, so the same
// conversation gets the same answers in any process.
type mock struct {
	name, model, file string
	steps             []step
	maxBytes          int
	wait              func(context.Context, time.Duration) error
}

func newMock(cfg *config.Config, name string, p config.Provider, o Options) (Provider, error) {
	m := &mock{name: name, model: p.Model, file: p.Fixture, maxBytes: maxBytes(cfg), wait: o.wait}
	if m.model == "" {
		m.model = "mock"
	}
	if m.file == "" {
		return m, nil
	}
	if !filepath.IsAbs(m.file) {
		m.file = filepath.Join(filepath.Dir(cfg.File), m.file)
	}
	var err error
	if m.steps, err = readFixture(m.file); err != nil {
		return nil, &Error{Provider: name, Code: dialect.CodeConfig, Message: "read the fixture: " + err.Error(),
			Err: err}
	}
	return m, nil
}

// Name implements Provider.
func (m *mock) Name() string { return m.name }

// Kind implements Provider.
func (m *mock) Kind() string { return "mock" }

// Capabilities implements Provider.
func (m *mock) Capabilities() Capabilities { return Capabilities{Streaming: true, Tools: true} }

// Chat implements Provider.
func (m *mock) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	doc := sync.OnceValues(func() (any, error) {
		raw, err := record.Encode(req)
		if err != nil {
			return nil, err
		}
		return record.JQValue(raw)
	})
	s := builtin(req)
	if m.file != "" {
		var err error
		if s, err = m.due(ctx, req, doc); err != nil {
			return nil, err
		}
	}
	if s.DelayMS > 0 && m.wait(ctx, time.Duration(s.DelayMS)*time.Millisecond) != nil || ctx.Err() != nil {
		return nil, ended(m.name, ctx)
	}
	if s.Error != "" {
		return nil, &Error{Provider: m.name, Code: s.Error, Message: "scripted " + s.Error,
			Retryable: transient(s.Error)}
	}
	resp, err := m.respond(ctx, req, s, doc)
	if err != nil {
		return nil, err
	}
	if err := stream(resp.FinalText, onDelta); err != nil {
		return nil, err
	}
	return resp, nil
}

// due returns the next step: among those whose when is true, the one whose index is the number of assistant messages
// since the last user message.
func (m *mock) due(ctx context.Context, req *record.Request, doc func() (any, error)) (*step, error) {
	at, matched := rounds(req), 0
	for i := range m.steps {
		s := &m.steps[i]
		if s.when != nil {
			d, err := doc()
			if err != nil {
				return nil, m.failed(ctx, s, "read the request", err)
			}
			holds, err := s.holds(ctx, d)
			if err != nil {
				return nil, m.failed(ctx, s, "when", err)
			}
			if !holds {
				continue
			}
		}
		if matched == at {
			return s, nil
		}
		matched++
	}
	return nil, &Error{Provider: m.name, Code: dialect.CodeConfig,
		Message: fmt.Sprintf("no step of the fixture %s is due: %d of its %s match this request, "+
			"and the model has spoken %s since the last user message", m.file, matched,
			spelling.Count(len(m.steps), "step"), spelling.Count(at, "time")), Hint: "add a step, or change a when"}
}

// rounds counts the assistant messages since the last user message.
func rounds(req *record.Request) int {
	n := 0
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != "user"; i-- {
		if req.Messages[i].Role == "assistant" {
			n++
		}
	}
	return n
}

// failed is the error of a step that cannot be carried out.
func (m *mock) failed(ctx context.Context, s *step, what string, err error) error {
	if ctx.Err() != nil {
		return ended(m.name, ctx)
	}
	e := &Error{Provider: m.name, Code: dialect.CodeConfig,
		Message: fmt.Sprintf("%s:%d: %s: %v", m.file, s.line, what, err), Err: err}
	if errors.Is(err, dialect.ErrTooLarge) {
		e.Code = dialect.CodeTooLarge
	}
	return e
}

// respond makes the response of a step. Without usage in the script, four bytes count as a token.
func (m *mock) respond(ctx context.Context, req *record.Request, s *step, doc func() (any, error)) (*record.Response,
	error) {
	resp := &record.Response{Provider: m.name, Model: m.model, FinishReason: "stop", ToolCalls: []record.CallPart{}}
	if s.FinalText != nil {
		resp.FinalText = *s.FinalText
	}
	if s.text != nil {
		d, err := doc()
		if err == nil {
			resp.FinalText, err = s.say(ctx, d, m.maxBytes)
		}
		if err != nil {
			return nil, m.failed(ctx, s, "final_text_jq", err)
		}
	}
	for _, c := range s.ToolCalls {
		args := c.Args
		if len(args) == 0 {
			args = record.Raw("{}")
		}
		resp.ToolCalls = append(resp.ToolCalls, record.CallPart{ID: record.NewID("call-"), Name: c.Name, Args: args})
		resp.FinishReason = "tool_calls"
	}
	if s.Usage != nil {
		resp.Usage = *s.Usage
		return resp, nil
	}
	resp.Usage = record.Usage{InputTokens: tokens(len(req.SystemPrompt)), OutputTokens: tokens(len(resp.FinalText))}
	for _, msg := range req.Messages {
		resp.Usage.InputTokens += tokens(len(msg.Content))
	}
	for _, c := range resp.ToolCalls {
		resp.Usage.OutputTokens += tokens(len(c.Name) + len(c.Args))
	}
	return resp, nil
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }

// maxPieces is the number of pieces in which the mock streams a text.
const maxPieces = 4

// stream passes a text on in a few pieces, cut between characters.
func stream(text string, onDelta func(string) error) error {
	if onDelta == nil {
		return nil
	}
	size := max(1, (len(text)+maxPieces-1)/maxPieces)
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		if err := onDelta(text[:n]); err != nil {
			return fmt.Errorf("%w: %w", errDelta, err)
		}
		text = text[n:]
	}
	return nil
}
