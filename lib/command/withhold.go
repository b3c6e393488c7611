package command

import (
	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// Withhold takes secrets out of a JSON value: out of each of its texts as a reader will see it, without escapes, and
// where a name and the value behind it are a secret only together, out of the value. What holds none is returned as it
// is.
func (c *Call) Withhold(raw []byte) ([]byte, error) { return withhold(c.Secrets, raw) }

func withhold(secrets *secret.Redactor, raw []byte) ([]byte, error) {
	out, err := record.MapStrings(raw, secrets.Text)
	if err != nil {
		return nil, err
	}
	whole, found := secrets.Bytes(out)
	if found == nil {
		return out, nil
	}
	if _, err := record.MapStrings(whole, func(s string) string { return s }); err != nil {
		return out, nil // it went over the end of a text, so it is none
	}
	return whole, nil
}
