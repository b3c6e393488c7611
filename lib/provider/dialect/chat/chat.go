// Package chat is the dialect of /chat/completions, defined by OpenAI and used by many servers.
package chat

import (
	"bytes"
	"fmt"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// Dialect implements dialect.Dialect.
type Dialect struct{}

// Wire implements dialect.Dialect.
func (Dialect) Wire() dialect.Wire {
	return dialect.Wire{Name: record.DialectChat, Ask: "/chat/completions", List: "/models", KeyHeader: "Authorization",
		KeyPrefix: "Bearer "}
}

// Complaint implements dialect.Dialect.
func (Dialect) Complaint(status int, body []byte, k dialect.Keys) dialect.Complaint {
	return dialect.ReadComplaint(status, body, k)
}

// Answer implements dialect.Dialect.
func (Dialect) Answer(l dialect.Limits) dialect.Answer { return &answer{Limits: l} }

// Whole implements dialect.Answer.
func (b *answer) Whole(body []byte) (string, error) {
	if e := b.listed(body); e != nil {
		return "", e
	}
	var m completion
	if err := record.DecodeOpen(body, &m); err != nil {
		return "", fmt.Errorf("the answer is not a /chat/completions answer: %w", err)
	}
	if e := reported(m.Error, b.Keys); e != nil {
		return "", e
	}
	text, err := b.first(&m)
	if err != nil && len(m.Choices) == 0 {
		err = fmt.Errorf("%w: %s", err, dialect.Reported(body, b.Keys).Text)
	}
	return text, err
}

// Event implements dialect.Answer. Of several choices it reads only the first.
func (b *answer) Event(name string, data []byte) (text string, err error) {
	switch body := bytes.TrimSpace(data); {
	case string(body) == "[DONE]":
		return "", dialect.ErrDone
	case name == "error":
		return "", dialect.Reported(data, b.Keys)
	case len(body) == 0:
		return "", nil
	}
	var m completion
	if err := record.DecodeOpen(data, &m); err != nil {
		if e := b.listed(data); e != nil {
			return "", e
		}
		return "", fmt.Errorf("a chunk of the answer is not a /chat/completions chunk: %w", err)
	}
	if e := reported(m.Error, b.Keys); e != nil {
		return "", e
	}
	b.meta(&m)
	for _, c := range m.Choices {
		if !c.first() {
			continue
		}
		piece := c.Delta
		if !dialect.Given(piece) && !b.seen {
			piece = c.Message // the whole, in one piece
		}
		more, err := b.add(piece, c.FinishReason, !dialect.Given(c.Delta))
		if err != nil {
			return "", err
		}
		text += more
	}
	return text, nil
}

// Complete implements dialect.Answer: an answer is complete once it has a finish_reason.
func (b *answer) Complete() bool { return b.finish != "" }

// reported returns the error that a server reports inside an answer with status 200, or nil.
func reported(raw record.Raw, k dialect.Keys) error {
	if !dialect.Given(raw) || string(raw) == `""` || string(raw) == "false" || string(raw) == "{}" {
		return nil
	}
	return dialect.Reported(raw, k)
}

// listed returns the error that some servers put into an array, or nil.
func (b *answer) listed(body []byte) error {
	elements, err := record.Elements(body)
	if err != nil || len(elements) == 0 {
		return nil
	}
	var m struct {
		Error record.Raw `json:"error"`
	}
	if record.DecodeOpen(elements[0], &m) != nil {
		return nil
	}
	return reported(m.Error, b.Keys)
}
