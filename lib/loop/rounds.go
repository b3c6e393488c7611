package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// fewRounds is the number of remaining rounds of tools from which on the model is told.
const fewRounds = 2

// roundsLeft adds to the newest result how many rounds of tools are left, if they are few. Only the request contains
// this; the conversation keeps what the tools said.
func (t *turn) roundsLeft(messages []record.Message) []record.Message {
	left := t.MaxToolRounds - t.final.Rounds
	n := len(messages)
	if n == 0 || messages[n-1].Role != "tool" || left > fewRounds && !t.last {
		return messages
	}
	messages = slices.Clone(messages)
	messages[n-1].Content += "\n[" + roundsNote(left, t.last) + "]"
	return messages
}

func roundsNote(left int, last bool) string {
	switch {
	case last, left <= 0:
		return "no more tool calls can be made: answer now from what you have, and say what is left undone"
	case left == 1:
		return "one round of tool calls is left in this turn"
	}
	return fmt.Sprintf("%s of tool calls are left in this turn", spelling.Count(left, "round"))
}

// conclude asks once more, without tools, when the rounds are used up, so that there is an answer. The turn has still
// reached its limit, and a failure of the provider now does not change that.
func (t *turn) conclude(ctx context.Context) error {
	reached := t.final
	over := t.limited()
	t.final = reached
	if over || len(t.Tools) == 0 {
		return nil
	}
	t.last = true
	resp, _, err := t.ask(ctx)
	var died *StageError
	if errors.As(err, &died) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		t.Warn("last_answer_failed", "conversation_id", t.ConversationID, "code", envelope.From(err).Code, "error",
			err.Error())
		return nil
	}
	t.say(record.Message{Role: "assistant", Content: resp.FinalText, ToolCalls: resp.ToolCalls,
		Original: resp.Original})
	if resp.FinalText != "" {
		t.final.Content = resp.FinalText
	}
	t.refuse(resp.ToolCalls)
	return nil
}
