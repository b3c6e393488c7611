package provider

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// Bounds of a fixture and of the expressions in it.
const (
	maxFixtureBytes = 8 << 20
	exprTimeout     = time.Second
)

// step is one line of a fixture: what the model answers, and when.
type step struct {
	When        string        `json:"when"`
	FinalText   *string       `json:"final_text"`
	FinalTextJQ string        `json:"final_text_jq"`
	ToolCalls   []call        `json:"tool_calls"`
	Error       string        `json:"error"`
	DelayMS     int64         `json:"delay_ms"`
	Usage       *record.Usage `json:"usage"`

	when, text *gojq.Code
}

type call struct {
	Name string     `json:"name"`
	Args record.Raw `json:"args"`
}

// mock is a model that follows a script. It keeps no state: which step is due follows from the request alone.
type mock struct {
	name, model, file string
	steps             []step
	wait              func(context.Context, time.Duration) error
}

func newMock(cfg *config.Config, name string, p config.Provider, o Options) (Provider, error) {
	m := &mock{name: name, model: p.Model, wait: o.wait}
	if m.model == "" {
		m.model = "mock"
	}
	if p.Fixture == "" {
		return m, nil
	}
	m.file = p.Fixture
	if !filepath.IsAbs(m.file) {
		m.file = filepath.Join(filepath.Dir(cfg.File), m.file)
	}
	b, err := os.ReadFile(m.file)
	if err == nil && len(b) > maxFixtureBytes {
		err = fmt.Errorf("it is longer than %d bytes", maxFixtureBytes)
	}
	if err == nil {
		m.steps, err = parseFixture(b)
	}
	if err != nil {
		return nil, &Error{Provider: name, Code: CodeConfig, Message: fmt.Sprintf("read the fixture %s: %v", m.file, err), Err: err}
	}
	return m, nil
}

// parseFixture reads the steps, strictly.
func parseFixture(b []byte) ([]step, error) {
	var steps []step
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, maxFixtureBytes+1)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var s step
		if err := record.Decode(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := s.compile(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		steps = append(steps, s)
	}
	return steps, lines.Err()
}

// compile checks that a step has one outcome, and compiles its expressions.
func (s *step) compile() error {
	outcomes := 0
	for _, has := range []bool{s.FinalTextJQ != "", s.Error != "", s.FinalText != nil || s.ToolCalls != nil} {
		if has {
			outcomes++
		}
	}
	if outcomes != 1 || s.FinalText != nil && s.FinalTextJQ != "" {
		return fmt.Errorf("want one of final_text, final_text_jq, tool_calls and error")
	}
	switch s.Error {
	case "", CodeTimeout, CodeNetwork, CodeAuth, CodeRateLimit:
	default:
		return fmt.Errorf("error %+q: want timeout, network, auth or rate_limit", bounded(s.Error))
	}
	var err error
	if s.when, err = compile("when", s.When); err != nil {
		return err
	}
	s.text, err = compile("final_text_jq", s.FinalTextJQ)
	return err
}

func compile(name, expr string) (*gojq.Code, error) {
	if expr == "" {
		return nil, nil
	}
	q, err := gojq.Parse(expr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return code, nil
}

func (m *mock) Name() string { return m.name }

func (m *mock) Kind() string { return "mock" }

func (m *mock) Capabilities() Capabilities { return Capabilities{Streaming: true, Tools: true} }

// Chat implements Provider.
func (m *mock) Chat(ctx context.Context, req *record.Request, onDelta func(string) error) (*record.Response, error) {
	raw, err := record.Encode(req)
	if err != nil {
		return nil, m.fail(CodeBadRequest, err)
	}
	s := builtin(req)
	if m.file != "" {
		if s, err = m.due(raw, req); err != nil {
			return nil, err
		}
	}
	if s.DelayMS > 0 {
		if err := m.wait(ctx, time.Duration(s.DelayMS)*time.Millisecond); err != nil {
			return nil, &Error{Provider: m.name, Code: CodeCancelled, Message: "cancelled: " + err.Error(), Err: err}
		}
	}
	if s.Error != "" {
		return nil, &Error{Provider: m.name, Code: s.Error, Message: "scripted " + s.Error, Retryable: s.Error != CodeAuth}
	}
	resp, err := m.respond(raw, req, s)
	if err != nil {
		return nil, err
	}
	return resp, stream(resp.FinalText, onDelta)
}

func (m *mock) fail(code string, err error) error {
	return &Error{Provider: m.name, Code: code, Message: err.Error(), Err: err}
}

// due finds the step: of those whose when holds, the one at the number of assistant messages since the last user message.
func (m *mock) due(raw []byte, req *record.Request) (*step, error) {
	doc, err := record.JQValue(raw)
	if err != nil {
		return nil, m.fail(CodeBadRequest, err)
	}
	at, matched := rounds(req), 0
	for i := range m.steps {
		s := &m.steps[i]
		if s.when != nil {
			v, err := evaluate(s.when, doc)
			if err != nil {
				return nil, m.fail(CodeConfig, fmt.Errorf("%s: when: %w", m.file, err))
			}
			if v == nil || v == false {
				continue
			}
		}
		if matched == at {
			return s, nil
		}
		matched++
	}
	return nil, m.fail(CodeConfig, fmt.Errorf("the fixture %s has %d steps for this request, and number %d is due", m.file, matched, at+1))
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

func evaluate(code *gojq.Code, doc any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), exprTimeout)
	defer cancel()
	v, ok := code.RunWithContext(ctx, doc).Next()
	if err, failed := v.(error); ok && failed {
		return nil, err
	}
	return v, nil
}

// respond makes the response of a step. Usage is counted in fours of bytes where the step names none.
func (m *mock) respond(raw []byte, req *record.Request, s *step) (*record.Response, error) {
	resp := &record.Response{Provider: m.name, Model: m.model, FinishReason: "stop", ToolCalls: []record.CallPart{}}
	if s.FinalText != nil {
		resp.FinalText = *s.FinalText
	}
	if s.text != nil {
		doc, err := record.JQValue(raw)
		if err != nil {
			return nil, m.fail(CodeBadRequest, err)
		}
		v, err := evaluate(s.text, doc)
		if err != nil {
			return nil, m.fail(CodeConfig, fmt.Errorf("%s: final_text_jq: %w", m.file, err))
		}
		resp.FinalText = fmt.Sprint(v)
	}
	for _, c := range s.ToolCalls {
		args := c.Args
		if len(args) == 0 {
			args = record.Raw("{}")
		}
		resp.ToolCalls = append(resp.ToolCalls, record.CallPart{ID: record.NewID("call-"), Name: c.Name, Args: args})
		resp.FinishReason = "tool_calls"
	}
	resp.Usage = record.Usage{InputTokens: int64(len(req.SystemPrompt)+3) / 4, OutputTokens: int64(len(resp.FinalText)+3) / 4}
	for _, msg := range req.Messages {
		resp.Usage.InputTokens += int64(len(msg.Content)+3) / 4
	}
	if s.Usage != nil {
		resp.Usage = *s.Usage
	}
	return resp, nil
}

// stream passes a text on in a few pieces.
func stream(text string, onDelta func(string) error) error {
	if onDelta == nil {
		return nil
	}
	for _, word := range strings.SplitAfter(text, " ") {
		if word == "" {
			continue
		}
		if err := onDelta(word); err != nil {
			return err
		}
	}
	return nil
}

// aboutFiles are the words at which the built-in script looks at the workspace.
var aboutFiles = []string{"file", "folder", "director", "list", "project"}

// builtin is the script without a fixture: asked about files it lists them and answers from the result.
func builtin(req *record.Request) *step {
	last := record.Message{}
	question := ""
	for _, m := range req.Messages {
		last = m
		if m.Role == "user" {
			question = m.Content
		}
	}
	say := func(format string, args ...any) *step {
		text := fmt.Sprintf(format, args...)
		return &step{FinalText: &text}
	}
	if last.Role == "tool" && last.IsError {
		return say("This is clawsh's built-in mock model. I tried to list the files, but: %s", last.Content)
	}
	if last.Role == "tool" {
		return say("This is clawsh's built-in mock model. The workspace holds:\n%s", strings.Trim(last.Content, "\n"))
	}
	for _, t := range req.Tools {
		for _, word := range aboutFiles {
			if t.Name == "file_list" && strings.Contains(strings.ToLower(question), word) {
				return &step{ToolCalls: []call{{Name: "file_list", Args: record.Raw(`{"path":"."}`)}}}
			}
		}
	}
	r := []rune(question)
	if len(r) > 200 {
		r = append(r[:200], '…')
	}
	return say("This is clawsh's built-in mock model: it can list files, but it cannot think. You said: %s", string(r))
}
