package record

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// members yields the top-level names and values of a valid JSON object. Names are unquoted; values alias b.
func members(b []byte) iter.Seq2[[]byte, Raw] {
	return func(yield func([]byte, Raw) bool) {
		i := skipSpace(b, bytes.IndexByte(b, '{')+1)
		for i < len(b) && b[i] == '"' {
			end := stringEnd(b, i)
			name := b[i+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				name, _ = jsontext.AppendUnquote(nil, b[i:end])
			}
			start := skipSpace(b, skipSpace(b, end)+1)
			stop := valueEnd(b, start)
			if !yield(name, Raw(b[start:stop])) {
				return
			}
			i = skipSpace(b, stop)
			if i < len(b) && b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

// depth returns the deepest nesting of valid JSON.
func depth(b []byte) int {
	now, deepest := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringEnd returns the index after the closing quote of the string that starts at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// valueEnd returns the index after the value that starts at i.
func valueEnd(b []byte, i int) int {
	level := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
			if level == 0 {
				return i + 1
			}
		case '{', '[':
			level++
		case '}', ']':
			level--
			if level == 0 {
				return i + 1
			}
			if level < 0 {
				return i
			}
		case ',', ' ', '\t', '\r', '\n':
			if level == 0 {
				return i
			}
		}
	}
	return len(b)
}

// text decodes a raw JSON string; it returns "" for any other value.
func text(v Raw) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(s)
}

// knownNames has every top-level name of every kind of record.
var knownNames = func() map[string]struct{} {
	names := map[string]struct{}{}
	for _, n := range []string{
		"v", "kind", "id", "ts", "conversation_id", "turn_id", "request_id", "agent", "content", "metadata", "provider",
		"model",
		"system_prompt", "messages", "tools", "temperature", "stream", "text", "final_text", "tool_calls",
		"finish_reason", "usage",
		"raw_provider_payload", "tool", "args", "verdict", "status", "success", "output", "error", "receipt_id",
		"reserved", "rounds",
		"stop_reason", "cancel_observed", "denials", "receipts", "stage", "code", "error_code", "message", "hint",
		"retryable", "ref",
		"through_turn_id", "through_record_id", "turns", "original", "reasoning", "calls_cut", "repaired", "seal",
		"unattested",
	} {
		names[n] = struct{}{}
	}
	return names
}()
