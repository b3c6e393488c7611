package dialect

import (
	"bytes"
	"strings"
	"unicode"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// MaxQuoteBytes bounds what is quoted of a server.
const MaxQuoteBytes = 300

// Withheld stands for JSON that held a key.
const Withheld = "[withheld: key]"

// Keys are the values, the key of the provider among them, that nobody may see.
type Keys struct{ *secret.Redactor }

// With returns the known values and one key more.
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

// HiddenIn tells whether JSON holds a key, escaped or not. Where that cannot be told, it does.
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

// Quote is the beginning of what somebody else wrote. The key goes first, while it is still in one piece.
func (k Keys) Quote(s string, most int) string {
	s = k.Scrub(Printable(k.Scrub(s)))
	if len(s) > most {
		return record.Cut(s, most) + "..."
	}
	return s
}

// Verbatim quotes bytes as they are, unless they are JSON that spells the key with escapes.
func (k Keys) Verbatim(b []byte) string {
	var raw record.Raw
	if record.Decode(b, &raw) == nil && k.HiddenIn(raw) && !k.Found(b) {
		return Withheld
	}
	return k.Quote(string(b), MaxQuoteBytes)
}

// Printable keeps what somebody else wrote to one line of characters that show as themselves.
func Printable(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) || r == ' ' }), " ")
}

// Given tells whether an optional JSON value is there.
func Given(raw record.Raw) bool { return len(raw) > 0 && string(raw) != "null" }

// Text returns the text of a JSON string.
func Text(raw record.Raw) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || record.Decode(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// spareDepth is the nesting that a record has around what it carries.
const spareDepth = 8

// Fits tells whether raw is valid JSON that a record can carry.
func Fits(raw record.Raw) bool {
	var v record.Raw
	if record.Decode(raw, &v) != nil {
		return false
	}
	const nest = spareDepth - 1
	_, err := record.Parse([]byte(`{"kind":"x","x":` + strings.Repeat("[", nest) + string(v) + strings.Repeat("]", nest) + `}`))
	return err == nil
}

// Mentions tells whether a text names a field: as a word of its own.
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
