package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"receipt", "memory list", "policy"}
	for word, want := range map[string]string{"recipt": "receipt", "memroy": "memory", "hello": "",
		"receipt": "receipt",
		"":        "", strings.Repeat("x", 1000): ""} {
		if got := Nearest(word, known, 2); got != want {
			t.Errorf("%.20s: %q", word, got)
		}
	}
}

func TestLonger(t *testing.T) {
	known := []string{"max_tool_rounds", "max_tokens", "max_cost"}
	for word, want := range map[string]string{"max_rounds": "max_tool_rounds", "tokens": "max_tokens",
		"cost": "max_cost", "max": "",
		"rounds_max": "", "": "", "shell": ""} {
		if got := Longer(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("recipt", "receipt")
	f.Fuzz(func(t *testing.T, word, known string) {
		if near := Nearest(word, []string{known}, 2); near != "" && !strings.HasPrefix(known, near) {
			t.Errorf("%q is not a part of %q", near, known)
		}
		if near := Longer(word, []string{known}); near != "" && near != known {
			t.Errorf("%q is not %q", near, known)
		}
	})
}
