package provider

import (
	"cmp"
	"errors"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// response makes a response from a dialect's reply. It contains no key, whatever the dialect left in it.
func (a *attempt) response(r *dialect.Reply, text string) (*record.Response, error) {
	out := &record.Response{Provider: a.server.name, Model: cmp.Or(a.keys.Scrub(r.Model), a.model), FinalText: text,
		ToolCalls: []record.CallPart{},
		Usage:     r.Usage, FinishReason: r.Finish,
		Reasoning: a.keys.Scrub(record.Cut(r.Reasoning, dialect.MaxReasoningBytes))}
	if r.Finish != record.FinishStop && r.Finish != record.FinishToolCalls {
		out.CallsCut, r.Calls = len(r.Calls), nil // what was cut off is not run
	}
	for _, c := range r.Calls {
		if c.Name == "" {
			return nil, errors.New("the answer has a tool call without a name")
		}
		args, err := arguments(a.keys.Scrub(c.Arguments), a.keys)
		if err != nil {
			return nil, err
		}
		id := record.Cut(a.keys.Scrub(c.ID), dialect.MaxIDBytes)
		out.ToolCalls = append(out.ToolCalls,
			record.CallPart{ID: record.NewID("call-"), ProviderCallID: id, Name: a.keys.Scrub(c.Name), Args: args})
	}
	if m := r.Message; m != nil && len(m) <= dialect.MaxMessageBytes && dialect.Fits(m) && !a.keys.HiddenIn(m) {
		out.Original = &record.Original{Provider: a.server.name, Dialect: a.server.wire.Name, Message: m}
	}
	return out, nil
}

// arguments turns what a model wrote as arguments into args: the object, or, if it is not an unambiguous object, the
// text as a JSON string.
func arguments(text string, k dialect.Keys) (record.Raw, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return record.Raw("{}"), nil
	}
	if trimmed[0] != '{' || !dialect.Fits(record.Raw(trimmed)) || record.CheckNumbers([]byte(trimmed)) != nil {
		return record.Encode(text)
	}
	if k.HiddenIn(record.Raw(trimmed)) {
		return record.Encode(dialect.Withheld)
	}
	return record.Encode(record.Raw(trimmed))
}
