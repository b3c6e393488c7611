package dialect

import (
	"bytes"
	"strings"
	"unicode"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// MaxQuoteBytes limits what is quoted of a server.
const MaxQuoteBytes = 300

// Withheld replaces JSON that contained a key.
const Withheld = "[withheld: key]"

// Keys are the secret values, the provider's key among them.
type Keys struct{ *secret.Redactor }

// With returns the keys and one more.
func (k Keys) With(name, key string) Keys {
	r := k.Redactor.Known()
	if r == nil {
		r = secret.New(nil).Known()
	}
	r.Learn(name, key)
	return Keys{r}
}

// Scrub replaces the keys in a text.
func (k Keys) Scrub(text string) string { return k.Text(text) }

// HiddenIn reports whether JSON contains a key, escaped or not, or cannot be checked.
func (k Keys) HiddenIn(raw record.Raw) bool {
	if k.Empty() {
		return false
	}
	if k.Found(raw) {
		return true
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	plain, err := record.Canonical(raw)
	return err != nil || k.Found(plain)
}

// Quote returns the beginning of a server's text. It removes keys first, while they are still in one piece.
func (k Keys) Quote(s string, most int) string {
	s = k.Scrub(Printable(k.Scrub(s)))
	if len(s) > most {
		return record.Cut(s, most) + "..."
	}
	return s
}

// Verbatim quotes bytes unchanged, unless they are JSON with an escaped key.
func (k Keys) Verbatim(b []byte) string {
	var raw record.Raw
	if record.Decode(b, &raw) == nil && k.HiddenIn(raw) && !k.Found(b) {
		return Withheld
	}
	return k.Quote(string(b), MaxQuoteBytes)
}

// Printable reduces a server's text to one line of visible characters.
func Printable(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == unicode.ReplacementChar ||
			!unicode.IsPrint(r) || r == ' '
	}), " ")
}

// Given reports whether an optional JSON value is there.
func Given(raw record.Raw) bool { return len(raw) > 0 && string(raw) != "null" }

// Text returns the text of a JSON string.
func Text(raw record.Raw) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || record.Decode(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// spareDepth is the nesting that a record adds around a value.
const spareDepth = 8

// Fits reports whether raw is valid JSON that a record can contain.
func Fits(raw record.Raw) bool {
	var v record.Raw
	if record.Decode(raw, &v) != nil {
		return false
	}
	const nest = spareDepth - 1
	_, err := record.Parse([]byte(`{"kind":"x","x":` + strings.Repeat("[", nest) + string(v) + strings.Repeat("]",
		nest) + `}`))
	return err == nil
}

// Mentions reports whether a text names a field, as a separate word.
func Mentions(text, name string) bool {
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
