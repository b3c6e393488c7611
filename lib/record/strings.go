package record

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MapStrings replaces each string s of a JSON value, names included, by f(s), where s is unescaped. If f changes
// nothing, the result is raw itself; otherwise it is the value without white space between tokens, with numbers
// unchanged. It is an error if two names become equal.
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

// Cut returns the beginning of a text, at most that many bytes, without splitting a character.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:max(most, 0)]
}

// Brief returns a text of one line in at most that many characters; the last is an ellipsis if anything was cut.
func Brief(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Shorten is like Cut but ends with an ellipsis, within the same number of bytes, if anything was cut.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Cut(s, most-len("…")) + "…"
}
