package tool

import (
	"context"
	"errors"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/terminal"
)

const (
	maxQuestionBytes = 4096
	maxAnswerBytes   = 4096
)

// askUser asks the person at the terminal.
func askUser(ctx context.Context, a card.AskArgs, env *Env) Result {
	if strings.TrimSpace(a.Question) == "" {
		return failf("ask the user: the question is empty")
	}
	if len(a.Question) > maxQuestionBytes {
		return failf("ask the user: the question is longer than %d bytes", maxQuestionBytes)
	}
	answer, err := terminal.AskText(ctx, "\nThe agent asks: "+terminal.Escape(a.Question)+"\n> ", maxAnswerBytes)
	if errors.Is(err, terminal.ErrNoTerminal) {
		return failf("ask the user: there is no terminal, so nobody can answer: continue without an answer, or say what you need to know")
	}
	if err != nil {
		return failf("ask the user: %v", err)
	}
	r := Result{Success: true}
	r.setFound(answer, env)
	return r
}
