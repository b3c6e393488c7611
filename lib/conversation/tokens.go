package conversation

import (
	"unicode/utf8"

	"clawsh/lib/record"
)

// Estimates for what providers add around a message and a call.
const (
	messageTokens = 8
	callTokens    = 8
)

// TextTokens estimates the tokens of a text: one for four ASCII bytes and one for two others, rounded up. It uses no
// tokenizer, since each model has its own. The estimate is too high for prose and for scripts other than Latin, and
// may be too low by half for long runs of digits and base64.
func TextTokens(s string) int {
	other := 0
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			other++
		}
	}
	return (len(s)-other+3)/4 + (other+1)/2
}

// Tokens estimates the tokens of a message: its text, its calls with their arguments and ids, and eight for the
// message and for each call. For a message that is sent back in its original form, that form counts if it is larger.
func Tokens(m record.Message) int {
	n := plainTokens(m)
	if m.Original != nil {
		n = max(n, messageTokens+TextTokens(string(m.Original.Message)))
	}
	return n
}

func plainTokens(m record.Message) int {
	n := messageTokens + TextTokens(m.Content) + TextTokens(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += callTokens + TextTokens(c.ID) + TextTokens(c.Name) + TextTokens(string(c.Args))
	}
	return n
}

// Bytes counts the bytes of a message's texts and of its original form.
func Bytes(m record.Message) int {
	n := len(m.Content) + len(m.ToolCallID)
	if m.Original != nil {
		n += len(m.Original.Message)
	}
	for _, c := range m.ToolCalls {
		n += len(c.ID) + len(c.ProviderCallID) + len(c.Name) + len(c.Args)
	}
	return n
}
