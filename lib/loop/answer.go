package loop

import (
	"fmt"
	"strings"

	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// answered ends the turn with a response without calls. If the answer is incomplete, the final says so, and what to
// do about it.
func (t *turn) answered(resp *record.Response) {
	f := &t.final
	empty := strings.TrimSpace(resp.FinalText) == ""
	switch {
	case resp.FinishReason == record.FinishLength:
		f.StopReason, f.ErrorCode = record.StopLength, "answer.length"
		f.Error, f.Hint = cutShort(resp, empty),
			"raise max_output_tokens of the provider or the limit of the server, or ask for less at once"
	case resp.FinishReason == record.FinishContentFilter:
		f.StopReason, f.ErrorCode = record.StopContentFilter, "answer.content_filter"
		f.Error, f.Hint = "the provider's content filter withheld all or part of the answer",
			"rephrase the message, or use another model"
	case resp.FinishReason == record.FinishRefusal:
		f.StopReason, f.ErrorCode = record.StopRefusal, "answer.refusal"
		f.Error, f.Hint = "the model refused to answer", "rephrase the message, or use another model"
	case empty && resp.Reasoning != "":
		f.StopReason, f.ErrorCode = record.StopEmpty, "answer.empty"
		f.Error, f.Hint = "the model returned reasoning but no answer",
			"ask again, raise max_output_tokens of the provider, or use another model"
	case empty:
		f.StopReason, f.ErrorCode = record.StopEmpty, "answer.empty"
		f.Error, f.Hint = "the model returned an empty answer", "ask again, or use another model"
	default:
		f.StopReason = record.StopFinalText
	}
}

// cutShort says what is missing of an answer that was cut at its limit of length.
func cutShort(resp *record.Response, empty bool) string {
	what := "the answer was cut off at the limit of output tokens"
	switch {
	case resp.CallsCut == 1:
		what += "; the tool call in it was not run"
	case resp.CallsCut > 1:
		what += fmt.Sprintf("; %s in it not run", spelling.Count(resp.CallsCut, "tool call"))
	case empty && resp.Reasoning != "":
		what += ", all of which went into reasoning"
	}
	return what
}
