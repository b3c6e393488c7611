package chat

import (
	"slices"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

type (
	function struct {
		Type     string      `json:"type"`
		Function record.Tool `json:"function"`
	}
	callOut struct {
		ID       string      `json:"id"`
		Type     string      `json:"type"`
		Function functionOut `json:"function"`
	}
	functionOut struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// Ask implements dialect.Dialect. The fields of the configuration's body table override everything.
func (Dialect) Ask(q *dialect.Question) (record.Raw, error) {
	fields, err := fieldsOf(q)
	if err != nil {
		return nil, err
	}
	for _, own := range q.Extra {
		if i := slices.IndexFunc(fields, func(f record.Member) bool { return f.Name == own.Name }); i >= 0 {
			fields[i] = own
		} else {
			fields = append(fields, own)
		}
	}
	silent := q.Without["stream"] || slices.ContainsFunc(fields,
		func(f record.Member) bool { return f.Name == "stream" && string(f.Value) == "false" })
	return record.Object(slices.DeleteFunc(fields, func(f record.Member) bool {
		return q.Without[f.Name] || silent && (f.Name == "stream" || f.Name == "stream_options")
	}))
}

// fieldsOf returns the fields of a question before the configuration adds its own.
func fieldsOf(q *dialect.Question) ([]record.Member, error) {
	messages, err := messagesOf(q)
	if err != nil {
		return nil, err
	}
	limit := "max_tokens"
	if q.Without[limit] {
		limit = "max_completion_tokens"
	}
	var all []record.Member
	for _, f := range []struct {
		name  string
		value any
		there bool
	}{
		{"model", q.Model, true},
		{"messages", messages, true},
		{"tools", functions(q.Tools), len(q.Tools) > 0},
		{"temperature", q.Temperature, q.Temperature != nil},
		{limit, q.MaxTokens, q.MaxTokens > 0},
		{"stream", true, true},
		{"stream_options", record.Raw(`{"include_usage":true}`), true},
	} {
		if !f.there {
			continue
		}
		raw, made := f.value.(record.Raw)
		if !made {
			if raw, err = record.Encode(f.value); err != nil {
				return nil, err
			}
		}
		all = append(all, record.Member{Name: f.name, Value: raw})
	}
	return all, nil
}

func functions(tools []record.Tool) []function {
	var all []function
	for _, t := range tools {
		if len(t.Parameters) == 0 {
			t.Parameters = record.Raw(`{"type":"object","properties":{}}`)
		}
		all = append(all, function{"function", t})
	}
	return all
}
