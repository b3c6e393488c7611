package provider

import (
	"slices"

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

// question is what /chat/completions is sent for a request. What it says of model and temperature goes before the configuration,
// and the fields of the configuration's body table before everything. Fields that the server was found not to take are left out.
func (c *chat) question(req *record.Request) (record.Raw, error) {
	without := c.without.names()
	fields, err := c.fields(req, without)
	if err != nil {
		return nil, err
	}
	for _, own := range c.extra {
		if i := slices.IndexFunc(fields, func(f record.Member) bool { return f.Name == own.Name }); i >= 0 {
			fields[i] = own
		} else {
			fields = append(fields, own)
		}
	}
	silent := without["stream"] || slices.ContainsFunc(fields, func(f record.Member) bool { return f.Name == "stream" && string(f.Value) == "false" })
	return record.Object(slices.DeleteFunc(fields, func(f record.Member) bool {
		return without[f.Name] || silent && (f.Name == "stream" || f.Name == "stream_options")
	}))
}

// fields are the fields of a question before the configuration adds its own.
func (c *chat) fields(req *record.Request, without map[string]bool) ([]record.Member, error) {
	messages, err := c.messages(req, without)
	if err != nil {
		return nil, err
	}
	limit := "max_tokens"
	if without[limit] {
		limit = "max_completion_tokens"
	}
	temperature := req.Temperature
	if temperature == nil {
		temperature = c.temperature
	}
	var all []record.Member
	for _, f := range []struct {
		name  string
		value any
		there bool
	}{
		{"model", c.modelOf(req), true},
		{"messages", messages, true},
		{"tools", functions(req.Tools), len(req.Tools) > 0},
		{"temperature", temperature, temperature != nil},
		{limit, c.maxTokens, c.maxTokens > 0},
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

func (c *chat) modelOf(req *record.Request) string {
	if req.Model != "" {
		return req.Model
	}
	return c.model
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
