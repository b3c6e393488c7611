package config

import (
	"strings"
	"testing"
)

// TestKeysAreShallow: a key of more parts than any has is one error, and nothing is noted of its levels.
func TestKeysAreShallow(t *testing.T) {
	for _, form := range []string{"KEY = 1\n", "[KEY]\n", "[[KEY]]\n", "x = {KEY = 1}\n", "x = [{KEY = 1}]\n"} {
		for parts, want := range map[int]int{maxKeyParts: 0, maxKeyParts + 1: 1, 400: 1} {
			problems := &Problems{}
			key := strings.TrimSuffix(strings.Repeat("a.", parts), ".")
			at := keys([]byte(strings.ReplaceAll(form, "KEY", key)), problems)
			if len(problems.List) != want || want == 1 &&
				(!strings.Contains(problems.List[0].Message, "parts") || len(at) > 2) {
				t.Errorf("%q of %d: %d problems, %d keys", form, parts, len(problems.List), len(at))
			}
		}
	}
}
