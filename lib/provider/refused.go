package provider

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"clawsh/lib/record"
)

// refused are the fields that a server was found not to take. They are left out as long as the process lives.
type refused struct {
	mu     sync.Mutex
	fields map[string]bool
}

// names are the fields to leave out.
func (r *refused) names() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.fields)
}

func (r *refused) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fields == nil {
		r.fields = map[string]bool{}
	}
	r.fields[name] = true
}

// refusals are words by which servers say that they do not take a field, as opposed to its value.
var refusals = []string{"unsupported", "not support", "not permitted", "not allowed", "unknown", "unrecognized", "unrecognised", "unexpected",
	"extra input", "extra_forbidden", "additional propert", "no longer", "deprecated", "does not accept", "not accepted", "cannot be used", "not implemented",
	"invalid field", "not enabled", "not available"}

// required are the fields without which there is no question.
var required = []string{"model", "messages", "tools", "role", "content", "tool_calls", "id", "type", "function"}

// concede takes a refusal as it is meant: the field that the server names is left out from now on, and named here; "" if there is
// none. A server that says nothing at all is tried without what servers refuse most often.
func (r *refused) concede(e *Error, body record.Raw) string {
	if e.streamed || e.Code != CodeBadRequest || !slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented}, e.Status) {
		return ""
	}
	sent := sentFields(body)
	words := strings.ToLower(e.said)
	if words == "" {
		for _, name := range []string{"stream_options", "stream"} {
			if slices.Contains(sent, name) {
				r.add(name)
				return name
			}
		}
		return ""
	}
	if !slices.ContainsFunc(refusals, func(w string) bool { return strings.Contains(words, w) }) {
		return ""
	}
	for _, name := range sent {
		if !slices.Contains(required, name) && (mentions(words, name) || name == "stream" && mentions(words, "streaming")) {
			r.add(name)
			return name
		}
	}
	return ""
}

// sentFields are the names of a request's fields, and of those of its assistant messages and calls, the longest first: stream
// is a part of stream_options.
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

// mentions tells whether a text names a field: as a word of its own.
func mentions(text, name string) bool {
	name = strings.ToLower(name)
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !wordByte(text[i-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		from = i + 1
	}
}

func wordByte(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
