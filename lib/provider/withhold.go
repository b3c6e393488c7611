package provider

import (
	"bytes"

	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// withheld stands for JSON that held a key.
const withheld = "[withheld: key]"

// keys are the values, the key of the provider among them, that must not leave this package.
type keys struct{ *secret.Redactor }

// with returns the known values and one key more.
func (k keys) with(name, key string) keys {
	r := k.Redactor.Known()
	if r == nil {
		r = secret.New(nil).Known()
	}
	r.Learn(name, key)
	return keys{r}
}

// scrub replaces the keys in a text.
func (k keys) scrub(text string) string { return k.Text(text) }

// hiddenIn tells whether JSON holds a key, escaped or not. Where that cannot be told, it does.
func (k keys) hiddenIn(raw record.Raw) bool {
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
