// Package request takes the first request of a turn apart, as a server gets it, and says how many bytes each part of it
// has: they are paid for in every turn.
package request

import (
	"fmt"
	"io"
	"strings"

	"clawsh/lib/record"
)

// Limit is how many bytes the first request of a default turn may have.
const Limit = 4600

// A Part is a part of a request.
type Part struct {
	Name  string
	Bytes int
}

// Parts are the parts of a chat completion's body, which together are the whole of it: the identity, which is the
// beginning of the system prompt, the facts that follow it, each tool, the message, and what holds them together.
func Parts(body []byte, identity string) ([]Part, error) {
	var req struct {
		Messages []struct {
			Role    string     `json:"role"`
			Content record.Raw `json:"content"`
		} `json:"messages"`
		Tools []record.Raw `json:"tools"`
	}
	if err := record.DecodeOpen(body, &req); err != nil {
		return nil, err
	}
	var parts []Part
	rest := len(body)
	add := func(name string, n int) {
		parts, rest = append(parts, Part{name, n}), rest-n
	}
	for _, m := range req.Messages {
		if m.Role != "system" {
			add("message", len(m.Content))
			continue
		}
		var text string
		if err := record.DecodeOpen(m.Content, &text); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(text, strings.TrimSpace(identity)) {
			return nil, fmt.Errorf("the system prompt does not begin with the identity: %q", text)
		}
		own, err := record.Encode(strings.TrimSpace(identity))
		if err != nil {
			return nil, err
		}
		add("system prompt: identity", len(own))
		add("system prompt: facts", len(m.Content)-len(own))
	}
	for _, raw := range req.Tools {
		var tool struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if err := record.DecodeOpen(raw, &tool); err != nil {
			return nil, err
		}
		add("tool "+tool.Function.Name, len(raw))
	}
	add("envelope", rest)
	return parts, nil
}

// Write prints parts, and their sum beside the limit.
func Write(w io.Writer, parts []Part) error {
	sum := 0
	for _, p := range parts {
		sum += p.Bytes
		if _, err := fmt.Fprintf(w, "  %-42s %7d bytes\n", p.Name, p.Bytes); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%-44s %7d bytes   limit: under %d\n", "first request of a default turn", sum, Limit)
	return err
}
