package provider

import (
	"cmp"
	"crypto/rand"
	"errors"
	"strings"

	"clawsh/lib/record"
)

// response ends the building.
func (b *builder) response() (*record.Response, error) {
	if !b.seen {
		return nil, errors.New("the answer has no choice with a message")
	}
	r := &record.Response{Provider: b.provider, Model: cmp.Or(b.keys.scrub(b.model), b.asked), FinalText: b.text.String(), ToolCalls: []record.CallPart{},
		Usage: b.usage, FinishReason: b.reason(), Reasoning: b.keys.scrub(strings.TrimSpace(cmp.Or(b.think.thought.String(), b.thought.String())))}
	if r.FinishReason == "" {
		return nil, errFinish
	}
	if r.FinishReason != record.FinishStop && r.FinishReason != record.FinishToolCalls {
		r.CallsCut, b.calls = len(b.calls), nil // what was cut off is not run
	}
	b.settleIDs()
	for _, c := range b.calls {
		if c.name == "" {
			return nil, errors.New("the answer has a tool call without a name")
		}
		args, err := arguments(b.keys.scrub(c.args.String()), b.keys)
		if err != nil {
			return nil, err
		}
		r.ToolCalls = append(r.ToolCalls, record.CallPart{ID: record.NewID("call-"), ProviderCallID: c.id, Name: b.keys.scrub(c.name), Args: args})
	}
	var err error
	r.Original, err = b.original(r.FinalText)
	return r, err
}

// errFinish is an answer that its server gave up.
var errFinish = errors.New("the server reports that the answer failed")

// reasons are the words of servers for the ends of an answer that are not its usual end; "" is a failure of the server.
var reasons = map[string]string{"length": record.FinishLength, "max_tokens": record.FinishLength, "model_length": record.FinishLength,
	"content_filter": record.FinishContentFilter, "safety": record.FinishContentFilter, "recitation": record.FinishContentFilter,
	"prohibited_content": record.FinishContentFilter, "sensitive": record.FinishContentFilter, "refusal": record.FinishRefusal,
	"error": "", "insufficient_system_resource": "", "network_error": "", "abort": ""}

// reason maps finish_reason. Words that are not known mean what came.
func (b *builder) reason() string {
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

// maxIDBytes bounds the ids that a record may bear.
const maxIDBytes = 200

// settleIDs gives an id to each call that has none of its own by which a result can be told from another one's.
func (b *builder) settleIDs() {
	seen := map[string]bool{}
	for _, c := range b.calls {
		if c.id == "" || len(c.id) > maxIDBytes || seen[c.id] || printable(c.id) != c.id || b.keys.scrub(c.id) != c.id {
			c.id = shortID()
		}
		seen[c.id] = true
	}
}

// shortID is an id that every server takes: nine letters and digits.
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

// original is the message as it came, without what the model thought in its text. There is none of an answer that holds a key, is
// too large or too deep for a record, or of which nothing but reasoning is left: such a one is not sent back.
func (b *builder) original(answer string) (*record.Original, error) {
	if b.kept > maxOriginalBytes || b.content.empty() && len(b.calls) == 0 && len(b.extra.names) == 0 {
		return nil, nil
	}
	members := []record.Member{{Name: "role", Value: record.Raw(`"assistant"`)}}
	content, err := b.contentBack(answer)
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
	message, err := record.Object(members)
	if err != nil || len(message) > maxMessageBytes || !fits(message) || b.keys.hiddenIn(message) {
		return nil, err
	}
	return &record.Original{Provider: b.provider, Dialect: record.DialectChat, Message: message}, nil
}

// contentBack is the content as it goes back.
func (b *builder) contentBack(answer string) (record.Raw, error) {
	switch {
	case b.content.isList, b.refused && !b.think.began && !b.content.empty():
		return b.content.value()
	case b.content.text != nil && (b.think.began || b.content.text.Len() > 0):
		return record.Encode(answer)
	case b.content.text != nil:
		return record.Raw(`""`), nil
	}
	return record.Raw("null"), nil
}

// original is the call as it came, under the id that it goes by.
func (c *call) original() (record.Raw, error) {
	args := record.Raw(c.args.String())
	if !c.object || !fits(args) {
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
	function, err := record.Object(append([]record.Member{{Name: "name", Value: name}, {Name: "arguments", Value: args}}, extra...))
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
	members := []record.Member{{Name: "id", Value: id}, {Name: "type", Value: record.Raw(`"function"`)}, {Name: "function", Value: function}}
	for _, m := range rest {
		if m.Name == "type" {
			members[1] = m
			continue
		}
		members = append(members, m)
	}
	return record.Object(members)
}
