package tool

import (
	"context"
	"errors"
	"strings"

	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

const (
	maxQuestionBytes = 4096
	maxAnswerBytes   = 4096
)

// askTool asks the person at the terminal.
type askTool struct{}

// Name implements Tool.
func (askTool) Name() string { return "ask_user" }

// Description implements Tool.
func (askTool) Description() string { return "Ask the user one question; returns the answer." }

// Parameters implements Tool.
func (askTool) Parameters() record.Raw {
	return record.Raw(`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"],"additionalProperties":false}`)
}

// Invoke implements Tool.
func (askTool) Invoke(ctx context.Context, args record.Raw, env *Env) Result {
	var a struct {
		Question string `json:"question"`
	}
	if err := decode(args, &a); err != nil {
		return failf("%v", err)
	}
	if strings.TrimSpace(a.Question) == "" {
		return failf("ask the user: the question is empty")
	}
	if len(a.Question) > maxQuestionBytes {
		return failf("ask the user: the question is longer than %d bytes", maxQuestionBytes)
	}
	answer, err := terminal.AskLine(ctx, "\nThe agent asks: "+terminal.Escape(a.Question)+"\n> ", maxAnswerBytes)
	if errors.Is(err, terminal.ErrNoTerminal) {
		return failf("ask the user: there is no terminal, so nobody can answer: go on without, or say what you need to know")
	}
	if err != nil {
		return failf("ask the user: %v", err)
	}
	r := Result{Success: true}
	r.setFound(answer, env)
	return r
}
