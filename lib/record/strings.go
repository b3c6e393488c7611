package record

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MapStrings replaces each string of a JSON value, names too, by what f makes of it. The texts that f sees are unescaped. If f
// changes nothing, the result is raw itself; else it is the value without white space between its tokens, numbers as they
// were. Two names that become the same are an error.
func MapStrings(raw []byte, f func(string) string) ([]byte, error) {
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	to := jsontext.NewEncoder(&out, jsontext.PreserveRawStrings(true))
	changed := false
	for {
		switch in.PeekKind() {
		case '"':
			val, err := in.ReadValue()
			if err != nil {
				return nil, explain(err)
			}
			text, err := jsontext.AppendUnquote(nil, val)
			if err != nil {
				return nil, explain(err)
			}
			mapped := f(string(text))
			if mapped == string(text) {
				err = to.WriteValue(val)
			} else {
				changed = true
				err = to.WriteToken(jsontext.String(mapped))
			}
			if err != nil {
				return nil, explain(err)
			}
		default:
			tok, err := in.ReadToken()
			if err == io.EOF && changed {
				return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
			}
			if err == io.EOF {
				return raw, nil
			}
			if err != nil {
				return nil, explain(err)
			}
			if err := to.WriteToken(tok); err != nil {
				return nil, explain(err)
			}
		}
	}
}

// Cut is the beginning of a text, at most so many bytes, of whole characters.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:max(most, 0)]
}

// Shorten is Cut to at most so many bytes with an ellipsis, where anything is left out.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Cut(s, most-len("…")) + "…"
}
