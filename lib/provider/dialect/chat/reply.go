package chat

import (
	"cmp"
	"crypto/rand"
	"errors"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// Reply implements dialect.Answer.
func (b *answer) Reply(text string) (*dialect.Reply, error) {
	if !b.seen {
		return nil, errors.New("the answer has no choice with a message")
	}
	r := &dialect.Reply{Model: b.model,
		Reasoning: strings.TrimSpace(cmp.Or(b.think.thought.String(), b.thought.String())), Finish: b.reason(),
		Usage: b.usage}
	if r.Finish == "" {
		return nil, dialect.ErrFailed
	}
	b.settleIDs()
	for _, c := range b.calls {
		r.Calls = append(r.Calls, dialect.Call{ID: c.id, Name: c.name, Arguments: c.args.String()})
	}
	if r.Finish != record.FinishStop && r.Finish != record.FinishToolCalls {
		b.calls = nil // what was cut off is not run, and not sent back
	}
	var err error
	r.Message, err = b.original(text)
	return r, err
}

// reasons are the servers' words for unusual ends of an answer; "" is a failure of the server.
var reasons = map[string]string{"length": record.FinishLength, "max_tokens": record.FinishLength,
	"model_length":   record.FinishLength,
	"content_filter": record.FinishContentFilter, "safety": record.FinishContentFilter,
	"recitation":         record.FinishContentFilter,
	"prohibited_content": record.FinishContentFilter, "sensitive": record.FinishContentFilter,
	"refusal": record.FinishRefusal,
	"error":   "", "insufficient_system_resource": "", "network_error": "", "abort": ""}

// reason maps finish_reason. For an unknown word it goes by what was received.
func (b *answer) reason() string {
	if word, known := reasons[strings.ToLower(b.finish)]; known {
		return word
	}
	switch {
	case b.refused:
		return record.FinishRefusal
	case len(b.calls) > 0:
		return record.FinishToolCalls
	}
	return record.FinishStop
}

// settleIDs gives an id to each call that has none, or not a unique one.
func (b *answer) settleIDs() {
	seen := map[string]bool{}
	for _, c := range b.calls {
		if c.id == "" || len(c.id) > dialect.MaxIDBytes || seen[c.id] || dialect.Printable(c.id) != c.id ||
			b.Keys.Scrub(c.id) != c.id {
			c.id = shortID()
		}
		seen[c.id] = true
	}
}

// shortID returns an id that every server accepts: nine letters and digits.
func shortID() string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	id := make([]byte, 0, 9)
	var random [16]byte
	for len(id) < cap(id) {
		rand.Read(random[:])
		for _, r := range random {
			if n := int(r) & 63; n < len(letters) && len(id) < cap(id) {
				id = append(id, letters[n])
			}
		}
	}
	return string(id)
}

// original returns the message in its original form, without the reasoning in its text. It is nil for an answer that
// is too large, or that contains nothing but reasoning: such an answer is not sent back.
func (b *answer) original(text string) (record.Raw, error) {
	if b.kept > maxOriginalBytes || b.content.empty() && len(b.calls) == 0 && len(b.extra.names) == 0 {
		return nil, nil
	}
	members := []record.Member{{Name: "role", Value: record.Raw(`"assistant"`)}}
	content, err := b.contentBack(text)
	if err != nil {
		return nil, err
	}
	members = append(members, record.Member{Name: "content", Value: content})
	extra, err := b.extra.object()
	if err != nil {
		return nil, err
	}
	members = append(members, extra...)
	if len(b.calls) > 0 {
		var calls []record.Raw
		for _, c := range b.calls {
			one, err := c.original()
			if err != nil {
				return nil, err
			}
			calls = append(calls, one)
		}
		members = append(members, record.Member{Name: "tool_calls", Value: record.Array(calls)})
	}
	return record.Object(members)
}

// contentBack returns the content in the form in which it goes back.
func (b *answer) contentBack(text string) (record.Raw, error) {
	switch {
	case b.content.isList, b.refused && !b.think.began && !b.content.empty():
		return b.content.value()
	case b.content.text != nil && (b.think.began || b.content.text.Len() > 0):
		return record.Encode(text)
	case b.content.text != nil:
		return record.Raw(`""`), nil
	}
	return record.Raw("null"), nil
}

// original returns the call in its original form, with the id that is used for it.
func (c *call) original() (record.Raw, error) {
	args := record.Raw(c.args.String())
	if !c.object || !dialect.Fits(args) {
		text, err := record.Encode(c.args.String())
		if err != nil {
			return nil, err
		}
		args = text
	}
	name, err := record.Encode(c.name)
	if err != nil {
		return nil, err
	}
	extra, err := c.extra.object()
	if err != nil {
		return nil, err
	}
	function,
		err := record.Object(append([]record.Member{{Name: "name", Value: name}, {Name: "arguments", Value: args}},
		extra...))
	if err != nil {
		return nil, err
	}
	rest, err := c.rest.object()
	if err != nil {
		return nil, err
	}
	id, err := record.Encode(c.id)
	if err != nil {
		return nil, err
	}
	members := []record.Member{{Name: "id", Value: id}, {Name: "type", Value: record.Raw(`"function"`)},
		{Name: "function", Value: function}}
	for _, m := range rest {
		if m.Name == "type" {
			members[1] = m
			continue
		}
		members = append(members, m)
	}
	return record.Object(members)
}
