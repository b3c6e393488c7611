package provider

import (
	"errors"
	"strings"

	"clawsh/lib/record"
)

// What /chat/completions answers, whole or in pieces. What a server may get wrong without harm is kept raw.
type (
	completion struct {
		Model   string     `json:"model"`
		Choices []choice   `json:"choices"`
		Usage   record.Raw `json:"usage"`
		Error   record.Raw `json:"error"`
	}
	choice struct {
		Index        int       `json:"index"`
		Message      *fragment `json:"message"`
		Delta        *fragment `json:"delta"`
		FinishReason string    `json:"finish_reason"`
	}
	fragment struct {
		Content   record.Raw  `json:"content"`
		Refusal   string      `json:"refusal"`
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
)

// tokensUsed reads the usage of an answer; what it does not say, or says in another way, is zero.
func tokensUsed(raw record.Raw) record.Usage {
	var u struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	}
	if record.DecodeOpen(raw, &u) != nil || u.PromptTokens < 0 || u.CompletionTokens < 0 {
		return record.Usage{}
	}
	return record.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens}
}

// asText returns the text of a JSON string.
func asText(raw record.Raw) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || record.Decode(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// contentText reads content: a text, null, or a list of parts, of which those with text count.
func contentText(raw record.Raw) (string, error) {
	if !given(raw) {
		return "", nil
	}
	if s, ok := asText(raw); ok {
		return s, nil
	}
	var parts []struct {
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

// spareDepth is the nesting that a record has around what it carries.
const spareDepth = 8

// fits tells whether raw is valid JSON that a record can carry.
func fits(raw record.Raw) bool {
	var v record.Raw
	if record.Decode(raw, &v) != nil {
		return false
	}
	const nest = spareDepth - 1
	_, err := record.Parse([]byte(`{"kind":"x","x":` + strings.Repeat("[", nest) + string(v) + strings.Repeat("]", nest) + `}`))
	return err == nil
}

// arguments turns what a model wrote as arguments into args: the object, or, where it is none that means the same to every
// reader, the text as a JSON string.
func arguments(text string, k keys) (record.Raw, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return record.Raw("{}"), nil
	}
	if trimmed[0] != '{' || !fits(record.Raw(trimmed)) || record.CheckNumbers([]byte(trimmed)) != nil {
		return record.Encode(text)
	}
	if k.hiddenIn(record.Raw(trimmed)) {
		return record.Encode(withheld)
	}
	return record.Encode(record.Raw(trimmed))
}
