package chat

import (
	"slices"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// refusals are words with which servers reject a field, as opposed to its value.
var refusals = []string{"unsupported", "not support", "not permitted", "not allowed", "unknown", "unrecognized",
	"unrecognised", "unexpected",
	"extra input", "extra_forbidden", "additional propert", "no longer", "deprecated", "does not accept",
	"not accepted", "cannot be used", "not implemented",
	"invalid field", "not enabled", "not available"}

// required are the fields that cannot be left out.
var required = []string{"model", "messages", "tools", "role", "content", "tool_calls", "id", "type", "function"}

// Refused implements dialect.Dialect. If a server gives no message at all, it returns the field that servers reject
// most often.
func (Dialect) Refused(words string, body record.Raw) string {
	sent := sentFields(body)
	words = strings.ToLower(words)
	if words == "" {
		for _, name := range []string{"stream_options", "stream"} {
			if slices.Contains(sent, name) {
				return name
			}
		}
		return ""
	}
	if !slices.ContainsFunc(refusals, func(w string) bool { return strings.Contains(words, w) }) {
		return ""
	}
	for _, name := range sent {
		if !slices.Contains(required, name) &&
			(dialect.Mentions(words, name) || name == "stream" && dialect.Mentions(words, "streaming")) {
			return name
		}
	}
	return ""
}

// sentFields are the names of a request's fields, and of those of its assistant messages and calls, the longest first:
// stream is a part of stream_options.
func sentFields(body record.Raw) []string {
	var names []string
	collect := func(raw record.Raw) []record.Member {
		all, _ := record.Members(raw)
		for _, m := range all {
			names = append(names, m.Name)
		}
		return all
	}
	for _, f := range collect(body) {
		if f.Name != "messages" {
			continue
		}
		messages, _ := record.Elements(f.Value)
		for _, m := range messages {
			for _, part := range collect(m) {
				if part.Name != "tool_calls" {
					continue
				}
				calls, _ := record.Elements(part.Value)
				for _, c := range calls {
					collect(c)
				}
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(names)
}
