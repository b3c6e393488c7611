package memory

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"clawsh/lib/record"
)

// maxTraceBytes bounds the message of a trace line.
const maxTraceBytes = 200

// describe names the event that a record is, and says in a few words what happened.
func describe(e *Entry) (event, message string) {
	switch e.Kind {
	case record.KindUser:
		event, message = "user_input", e.Content
	case record.KindResponse:
		event, message = "response", e.Content
		if names := callNames(e.ToolCalls); names != "" {
			message = "calls " + names
		}
	case record.KindToolResult:
		r := e.ToolResults[0]
		event, message = "tool_result", r.Tool+" "+r.Status
		if r.Error != "" {
			message += ": " + r.Error
		}
	case record.KindSummary:
		event, message = "summary", e.Content
	case record.KindFinal:
		f := e.final()
		event, message = "final", fmt.Sprintf("%s, rounds %d", f.StopReason, f.Rounds)
		if p := f.ProjectFile; p != nil {
			message += fmt.Sprintf(", %s sha256 %s", p.Name, p.SHA256)
		}
	}
	return event, shorten(message, maxTraceBytes)
}

func callNames(calls []record.CallPart) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// shorten cuts s to at most maxBytes bytes, at a rune, and says so with an ellipsis.
func shorten(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	end := maxBytes - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
