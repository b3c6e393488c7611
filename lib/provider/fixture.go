package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/itchyny/gojq"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// Limits of a fixture and of its expressions.
const (
	maxFixtureBytes = 8 << 20
	maxDelayMS      = 3_600_000
	exprTimeout     = 100 * time.Millisecond
)

// step is one line of a fixture: what the model answers, and when. Its outcome is a text, tool calls, both, or an
// error.
type step struct {
	When        string        `json:"when"`
	FinalText   *string       `json:"final_text"`
	FinalTextJQ string        `json:"final_text_jq"`
	ToolCalls   []stepCall    `json:"tool_calls"`
	Error       string        `json:"error"`
	DelayMS     int64         `json:"delay_ms"`
	Usage       *record.Usage `json:"usage"`

	line       int
	when, text *gojq.Code
}

// stepCall is a scripted call. Args are passed on unchanged: a JSON string stands for malformed arguments.
type stepCall struct {
	Name string     `json:"name"`
	Args record.Raw `json:"args"`
}

func readFixture(path string) ([]step, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFixtureBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFixtureBytes {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, maxFixtureBytes)
	}
	return parseFixture(path, b)
}

// parseFixture reads the steps, strictly. Errors begin with file and line.
func parseFixture(path string, b []byte) ([]step, error) {
	var steps []step
	n := 0
	for line := range bytes.Lines(b) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		s := step{line: n}
		err := record.Decode(line, &s)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s:1: no steps", path)
	}
	return steps, nil
}

// check rejects ambiguous steps, and compiles the expressions.
func (s *step) check() error {
	hasText := s.FinalText != nil || s.FinalTextJQ != ""
	switch {
	case s.ToolCalls != nil && len(s.ToolCalls) == 0:
		return errors.New("tool_calls is empty")
	case s.FinalText != nil && s.FinalTextJQ != "":
		return errors.New("final_text and final_text_jq: want only one")
	case s.Error != "" && (hasText || s.ToolCalls != nil):
		return errors.New("error and another outcome: want only one")
	case s.Error == "" && !hasText && s.ToolCalls == nil:
		return errors.New("no outcome: want final_text, final_text_jq, tool_calls or error")
	case s.DelayMS < 0 || s.DelayMS > maxDelayMS:
		return fmt.Errorf("delay_ms %d: want 0 to %d", s.DelayMS, maxDelayMS)
	case s.Usage != nil && (s.Usage.InputTokens < 0 || s.Usage.OutputTokens < 0):
		return errors.New("usage: negative numbers are not allowed")
	}
	switch s.Error {
	case "", dialect.CodeTimeout, dialect.CodeNetwork, dialect.CodeAuth, dialect.CodeRateLimit:
	default:
		return fmt.Errorf("error %q: want timeout, network, auth or rate_limit", short(s.Error))
	}
	for _, c := range s.ToolCalls {
		if c.Name == "" {
			return errors.New("tool_calls: a call has no name")
		}
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
		return nil, fmt.Errorf("%s: %s", name, record.Cut(dialect.Printable(err.Error()), dialect.MaxQuoteBytes))
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, record.Cut(dialect.Printable(err.Error()), dialect.MaxQuoteBytes))
	}
	return code, nil
}

// errNoOutput means that an expression yields nothing.
var errNoOutput = errors.New("the expression yields nothing")

// evaluate returns an expression's first output. gojq checks the deadline only between its steps; that is enough,
// since a fixture is the user's own file.
func evaluate(ctx context.Context, code *gojq.Code, doc any) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, exprTimeout,
		fmt.Errorf("the expression takes longer than %s", exprTimeout))
	defer cancel()
	v, ok := code.RunWithContext(ctx, doc).Next()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !ok {
		return nil, errNoOutput
	}
	if err, failed := v.(error); failed {
		return nil, errors.New(record.Cut(dialect.Printable(err.Error()), dialect.MaxQuoteBytes))
	}
	return v, nil
}

// holds reports whether a step's when is true for the request, as in jq's if.
func (s *step) holds(ctx context.Context, doc any) (bool, error) {
	v, err := evaluate(ctx, s.when, doc)
	if errors.Is(err, errNoOutput) {
		return false, nil
	}
	return v != nil && v != false, err
}

// say evaluates final_text_jq: a string as its text, anything else as JSON.
func (s *step) say(ctx context.Context, doc any, most int) (string, error) {
	v, err := evaluate(ctx, s.text, doc)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		b, err := gojq.Marshal(v)
		if err != nil {
			return "", err
		}
		text = string(b)
	}
	if len(text) > most {
		return "", dialect.ErrTooLarge
	}
	return text, nil
}
