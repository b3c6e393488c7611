package chat

import (
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// maxCalls limits the tool calls of one response.
const maxCalls = 64

// answer is assembled from one message or from its pieces.
type answer struct {
	dialect.Limits
	size          int // bytes of text and arguments, as received
	model, finish string
	seen          bool // a message, or a piece of one
	usage         record.Usage
	think         thinker
	calls         []*call
	refused       bool            // the server says that the model refuses
	thought       strings.Builder // what it sent as reasoning beside the text
	// the message as received: its content, and the fields that are neither content nor calls
	content, extra tree
	kept           int // bytes of extra
}

// call is a tool call that is being assembled.
type call struct {
	index       int
	id, name    string
	args        strings.Builder
	object      bool // arguments came as an object and not as a text
	rest, extra tree // fields of the call, and of its function
}

// meta reads the fields beside the choices.
func (b *answer) meta(m *completion) {
	if s, ok := dialect.Text(m.Model); ok && s != "" {
		b.model = s
	}
	if dialect.Given(m.Usage) {
		b.usage = tokensUsed(m.Usage)
	}
}

// first reads the first choice of an answer that is not streamed.
func (b *answer) first(m *completion) (string, error) {
	b.meta(m)
	for _, c := range m.Choices {
		message := c.Message
		if !dialect.Given(message) {
			message = c.Delta // only one piece of a stream
		}
		if !c.first() || !dialect.Given(message) {
			continue
		}
		return b.add(message, c.FinishReason, true)
	}
	return "", errors.New("the answer has no choice with a message")
}

// add reads a message, or a piece of one, and returns the text that can be passed on. Each call in a complete message
// is separate, whatever its index.
func (b *answer) add(raw, finish record.Raw, whole bool) (string, error) {
	if s, ok := dialect.Text(finish); ok && s != "" {
		b.finish = s
	}
	if !dialect.Given(raw) {
		return "", nil
	}
	members, err := record.Members(raw)
	if err != nil {
		return "", errors.New("a message is not an object")
	}
	b.seen = true
	var text strings.Builder
	for _, m := range members {
		s, err := b.field(m, whole)
		if err != nil {
			return "", err
		}
		text.WriteString(s)
	}
	return text.String(), nil
}

// field reads a field of the message and returns the answer's text in it.
func (b *answer) field(m record.Member, whole bool) (string, error) {
	switch m.Name {
	case "content":
		return b.addContent(m.Value)
	case "tool_calls":
		return "", b.addCalls(m.Value, whole)
	case "role":
		return "", nil
	}
	if err := b.keep(m); err != nil {
		return "", err
	}
	s, ok := dialect.Text(m.Value)
	switch {
	case !ok || s == "":
	case m.Name == "refusal":
		b.refused = true
		b.size += len(s)
		return s, b.tooLarge()
	case m.Name == "reasoning_content", m.Name == "reasoning" && !b.has("reasoning_content"):
		b.reasoned(s)
	}
	return "", nil
}

// reasoned keeps a piece of the model's reasoning, while there is room.
func (b *answer) reasoned(s string) {
	b.thought.WriteString(record.Cut(s, max(0, dialect.MaxReasoningBytes-b.thought.Len())))
}

func (b *answer) has(name string) bool { return b.extra.members[name] != nil }

// keep keeps a field that only the server knows, while there is room.
func (b *answer) keep(m record.Member) error {
	if b.kept += len(m.Name) + len(m.Value); b.kept > maxOriginalBytes {
		b.extra = tree{}
		return nil
	}
	return b.extra.member(m.Name).merge(m.Name, m.Value)
}

func (b *answer) tooLarge() error {
	if b.size > b.Bytes {
		return dialect.ErrTooLarge
	}
	return nil
}

func (b *answer) addContent(raw record.Raw) (string, error) {
	if b.size += len(raw); b.size > b.Bytes {
		return "", dialect.ErrTooLarge
	}
	text, thought, err := contentText(raw)
	if err != nil {
		return "", err
	}
	b.reasoned(thought)
	if err := b.content.merge("content", raw); err != nil {
		return "", err
	}
	return b.think.next(text), nil
}

// Rest implements dialect.Answer.
func (b *answer) Rest() string { return b.think.rest() }

func (b *answer) addCalls(raw record.Raw, whole bool) error {
	if !dialect.Given(raw) {
		return nil
	}
	pieces, err := record.Elements(raw)
	if err != nil {
		return errors.New("tool_calls is not an array")
	}
	for i, one := range pieces {
		p, err := readCall(one)
		if err != nil {
			return err
		}
		if whole {
			p.index = &i
		}
		if err := b.addCall(p); err != nil {
			return err
		}
	}
	return nil
}

// addCall reads a tool call, or a piece of one. Arguments are a text; some servers send the object itself.
func (b *answer) addCall(p callPiece) error {
	if b.size += len(p.args) + len(p.name) + len(p.id); b.size > b.Bytes {
		return dialect.ErrTooLarge
	}
	c := b.find(p)
	if c == nil {
		if len(b.calls) == maxCalls {
			return fmt.Errorf("more than %d tool calls in one answer", maxCalls)
		}
		c = &call{index: len(b.calls)}
		if p.index != nil {
			c.index = *p.index
		}
		b.calls = append(b.calls, c)
	}
	if c.id == "" {
		c.id = p.id
	}
	if c.name == "" {
		c.name = p.name
	}
	if s, ok := dialect.Text(p.args); ok {
		c.args.WriteString(s)
	} else if dialect.Given(p.args) {
		c.args.Write(p.args)
		c.object = true
	}
	return b.keepCall(c, p)
}

// keepCall keeps the fields of a call that only the server knows.
func (b *answer) keepCall(c *call, p callPiece) error {
	for _, part := range []struct {
		to   *tree
		from []record.Member
	}{{&c.rest, p.rest}, {&c.extra, p.extra}} {
		for _, m := range part.from {
			if b.kept += len(m.Name) + len(m.Value); b.kept > maxOriginalBytes {
				return nil
			}
			if err := part.to.member(m.Name).merge(m.Name, m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the call that a piece continues, or nil if it begins one. It goes by index, without one by id, and
// without both a name begins a call and anything else continues the last. A repeated index with another id and a name
// also begins a call: some servers give every call the index 0.
func (b *answer) find(p callPiece) *call {
	for i := len(b.calls) - 1; i >= 0; i-- {
		c := b.calls[i]
		switch {
		case p.index != nil && c.index == *p.index:
			if p.id != "" && c.id != "" && p.id != c.id && p.name != "" {
				return nil
			}
			return c
		case p.index == nil && p.id != "" && p.id == c.id:
			return c
		case p.index == nil && p.id == "" && p.name == "":
			return c
		}
	}
	return nil
}
