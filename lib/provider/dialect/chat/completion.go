package chat

import (
	"errors"
	"strconv"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// What /chat/completions answers, complete or in pieces. Fields that a server may get wrong without harm are kept
// raw.
type (
	completion struct {
		Model   record.Raw `json:"model"`
		Choices []choice   `json:"choices"`
		Usage   record.Raw `json:"usage"`
		Error   record.Raw `json:"error"`
	}
	choice struct {
		Index        record.Raw `json:"index"`
		Message      record.Raw `json:"message"`
		Delta        record.Raw `json:"delta"`
		FinishReason record.Raw `json:"finish_reason"`
	}
)

// first reports whether a choice is the one to read.
func (c choice) first() bool {
	return !dialect.Given(c.Index) || string(c.Index) == "0" || string(c.Index) == `"0"`
}

// callPiece is a tool call, or a piece of one.
type callPiece struct {
	index *int
	id    string
	name  string
	args  record.Raw
	rest  []record.Member // of the call
	extra []record.Member // of its function
}

// readCall reads a piece of a call. It ignores an id that is not a text.
func readCall(raw record.Raw) (callPiece, error) {
	var p callPiece
	members, err := record.Members(raw)
	if err != nil {
		return p, errors.New("a tool call is not an object")
	}
	for _, m := range members {
		switch m.Name {
		case "index":
			if n, err := strconv.Atoi(strings.Trim(string(m.Value), `"`)); err == nil {
				p.index = &n
			}
		case "id":
			p.id, _ = dialect.Text(m.Value)
		case "function":
			if err := p.function(m.Value); err != nil {
				return p, err
			}
		default:
			p.rest = append(p.rest, m)
		}
	}
	return p, nil
}

func (p *callPiece) function(raw record.Raw) error {
	if !dialect.Given(raw) {
		return nil
	}
	members, err := record.Members(raw)
	if err != nil {
		return errors.New("the function of a tool call is not an object")
	}
	for _, m := range members {
		switch m.Name {
		case "name":
			p.name, _ = dialect.Text(m.Value)
		case "arguments":
			p.args = m.Value
		default:
			p.extra = append(p.extra, m)
		}
	}
	return nil
}

// tokensUsed reads the usage of an answer; missing or malformed counts are zero.
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

// contentText reads content: a text, null, or a list of parts. Parts with text are the answer, parts with thinking
// are reasoning.
func contentText(raw record.Raw) (text, thought string, err error) {
	if !dialect.Given(raw) {
		return "", "", nil
	}
	if s, ok := dialect.Text(raw); ok {
		return s, "", nil
	}
	var parts []struct {
		Text     record.Raw `json:"text"`
		Thinking record.Raw `json:"thinking"`
	}
	if err := record.DecodeOpen(raw, &parts); err != nil {
		return "", "", errors.New("content is neither a text nor a list of parts")
	}
	var b, r strings.Builder
	for _, p := range parts {
		s, _ := dialect.Text(p.Text)
		b.WriteString(s)
		if s, ok := dialect.Text(p.Thinking); ok {
			r.WriteString(s)
		} else if dialect.Given(p.Thinking) {
			s, _, _ := contentText(p.Thinking)
			r.WriteString(s)
		}
	}
	return b.String(), r.String(), nil
}
