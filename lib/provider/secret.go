package provider

import (
	"bytes"
	"strings"

	"clawsh/lib/record"
)

const (
	redacted = "[redacted]"
	// minSecretBytes is the length below which a key is a placeholder: replacing it would garble every text.
	minSecretBytes = 4
)

// secret is the value of a key, to be removed from whatever leaves this package.
type secret string

func (s secret) real() bool { return len(s) >= minSecretBytes }

// scrub replaces the key in a text.
func (s secret) scrub(text string) string {
	if !s.real() {
		return text
	}
	return strings.ReplaceAll(text, string(s), redacted)
}

// hiddenIn tells whether JSON holds the key, escaped or not. Where that cannot be told, it does.
func (s secret) hiddenIn(raw record.Raw) bool {
	if !s.real() {
		return false
	}
	if bytes.Contains(raw, []byte(s)) {
		return true
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	quoted, err := record.Encode(string(s))
	if err == nil {
		quoted, err = record.Canonical(quoted)
	}
	plain, err2 := record.Canonical(raw)
	return err != nil || err2 != nil || bytes.Contains(plain, quoted[1:len(quoted)-1])
}

// scrubber removes a key from a text that comes in pieces. It holds back an end of a piece that may be the beginning of the
// key, until it is known.
type scrubber struct {
	secret secret
	held   string
}

// next returns what of the text can be passed on.
func (s *scrubber) next(text string) string {
	text = s.secret.scrub(s.held + text)
	n := s.begun(text)
	s.held = text[len(text)-n:]
	return text[:len(text)-n]
}

// rest returns what is still held back when no more follows.
func (s *scrubber) rest() string {
	held := s.held
	s.held = ""
	return held
}

// begun returns how many bytes at the end of the text the key may begin with.
func (s *scrubber) begun(text string) int {
	if !s.secret.real() {
		return 0
	}
	for n := min(len(text), len(s.secret)-1); n > 0; n-- {
		if strings.HasPrefix(string(s.secret), text[len(text)-n:]) {
			return n
		}
	}
	return 0
}
