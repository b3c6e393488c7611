package provider

import (
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// maxCalls bounds the tool calls of one response.
const maxCalls = 64

// builder puts a response together, from one message or from pieces of it.
type builder struct {
	provider, asked string
	keys            keys
	most, size      int // bytes of text and arguments, as they came
	model, finish   string
	usage           record.Usage
	text            strings.Builder
	clean           *secret.Stream
	calls           []*call
}

// call is a tool call that is being put together.
type call struct {
	index    int
	id, name string
	args     strings.Builder
}

func (a *attempt) builder() *builder {
	return &builder{provider: a.name, asked: a.model, keys: a.keys, most: a.maxBytes, clean: a.keys.NewStream()}
}

// meta takes what stands beside the choices.
func (b *builder) meta(m *completion) {
	if m.Model != "" {
		b.model = m.Model
	}
	if given(m.Usage) {
		b.usage = tokensUsed(m.Usage)
	}
}

// whole takes an answer that is not streamed: its first choice.
func (b *builder) whole(m *completion) error {
	b.meta(m)
	for _, c := range m.Choices {
		if c.Index != 0 || c.Message == nil {
			continue
		}
		for i := range c.Message.ToolCalls {
			c.Message.ToolCalls[i].Index = &i // each is a call of its own, whatever it says
		}
		if _, err := b.add(c.Message, c.FinishReason); err != nil {
			return err
		}
		b.rest()
		return nil
	}
	return errors.New("the answer has no choice with a message")
}

// add takes a message, or a piece of one, and returns the text that can be passed on.
func (b *builder) add(f *fragment, finish string) (string, error) {
	if finish != "" {
		b.finish = finish
	}
	if f == nil {
		return "", nil
	}
	if b.size += len(f.Content) + len(f.Refusal); b.size > b.most {
		return "", errTooLarge
	}
	text, err := contentText(f.Content)
	if err != nil {
		return "", err
	}
	text = b.clean.Next(text + f.Refusal)
	b.text.WriteString(text)
	for _, p := range f.ToolCalls {
		if err := b.addCall(p); err != nil {
			return "", err
		}
	}
	return text, nil
}

// rest ends the text and returns what was held back of it.
func (b *builder) rest() string {
	text := b.clean.Rest()
	b.text.WriteString(text)
	return text
}

// addCall takes a tool call, or a piece of one. Arguments are a text; some servers send the object itself.
func (b *builder) addCall(p callPiece) error {
	if b.size += len(p.Function.Arguments) + len(p.Function.Name) + len(p.ID); b.size > b.most {
		return errTooLarge
	}
	c := b.find(p)
	if c == nil {
		if len(b.calls) == maxCalls {
			return fmt.Errorf("more than %d tool calls in one answer", maxCalls)
		}
		c = &call{index: len(b.calls)}
		if p.Index != nil {
			c.index = *p.Index
		}
		b.calls = append(b.calls, c)
	}
	if c.id == "" {
		c.id = p.ID
	}
	if c.name == "" {
		c.name = p.Function.Name
	}
	if s, ok := asText(p.Function.Arguments); ok {
		c.args.WriteString(s)
	} else if given(p.Function.Arguments) {
		c.args.Write(p.Function.Arguments)
	}
	return nil
}

// find returns the call that a piece goes on with, nil if it begins one: by index; without, by id; without both, a name
// begins a call and anything else goes on with the last. An index that comes again with another id and a name begins one too:
// some servers give every call the index 0.
func (b *builder) find(p callPiece) *call {
	for i := len(b.calls) - 1; i >= 0; i-- {
		c := b.calls[i]
		switch {
		case p.Index != nil && c.index == *p.Index:
			if p.ID != "" && c.id != "" && p.ID != c.id && p.Function.Name != "" {
				return nil
			}
			return c
		case p.Index == nil && p.ID != "" && p.ID == c.id:
			return c
		case p.Index == nil && p.ID == "" && p.Function.Name == "":
			return c
		}
	}
	return nil
}

// response ends the building.
func (b *builder) response() (*record.Response, error) {
	r := &record.Response{Provider: b.provider, Model: b.keys.scrub(b.model), FinalText: b.text.String(), ToolCalls: []record.CallPart{}, Usage: b.usage}
	if r.Model == "" {
		r.Model = b.asked
	}
	for _, c := range b.calls {
		if c.name == "" {
			return nil, errors.New("the answer has a tool call without a name")
		}
		args, err := arguments(b.keys.scrub(c.args.String()), b.keys)
		if err != nil {
			return nil, err
		}
		r.ToolCalls = append(r.ToolCalls, record.CallPart{ID: record.NewID("call-"), Name: b.keys.scrub(c.name), Args: args})
	}
	r.FinishReason = b.reason()
	if r.FinalText == "" && r.FinishReason == "stop" {
		return nil, errors.New("the answer is empty: neither text nor tool calls")
	}
	return r, nil
}

// reason maps finish_reason: an answer that was cut off says so, with or without calls; other words mean what came.
func (b *builder) reason() string {
	switch {
	case b.finish == "length" || b.finish == "content_filter":
		return b.finish
	case len(b.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}
