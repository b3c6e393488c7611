package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "": "", "é😀": "é😀", "a\nb": `a\nb`, "\x1b]0;x\a": `\x1b]0;x\x07`, "\x7f": `\x7f`, "\u009b2J": `\u009b2J`,
		"\u202eabc": `\u202eabc`, "a\u200bb": `a\u200bb`, "\U000e0041": `\U000e0041`, "\ufe0f": `\ufe0f`, "\xff\xfe": `\xff\xfe`,
		`a\nb`: `a\\nb`, "\u2028": `\u2028`, "\ue000": `\ue000`, "\t": `\t`, "\ufeff": `\ufeff`, "\u00ad": `\u00ad`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Sanitize("a\r\nb\tc\\d\rx\x1b[2J"); got != "a\nb\tc\\d\\rx\\x1b[2J" {
		t.Errorf("Sanitize: %q", got)
	}
}

func TestStreamingSanitizer(t *testing.T) {
	const text = "wörld \x1b[31m 😀 \u202e end"
	for n := 1; n < 9; n++ {
		var b bytes.Buffer
		w := NewSanitizer(&b)
		for rest := []byte(text); len(rest) > 0; {
			k := min(n, len(rest))
			w.Write(rest[:k])
			rest = rest[k:]
		}
		if b.String() != Sanitize(text) {
			t.Errorf("in pieces of %d: %q", n, b.String())
		}
	}
}

// FuzzEscape checks the laws: nothing that a terminal acts on is left, and different texts stay different.
func FuzzEscape(f *testing.F) {
	f.Add("a\x1b", "b")
	f.Add(`\x1b`, "\x1b")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Escape(a), Escape(b)
		if a != b && x == y {
			t.Fatalf("%q and %q both become %q", a, b, x)
		}
		for _, r := range x + strings.NewReplacer("\n", "", "\t", "").Replace(Sanitize(a)) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("%q keeps %U", a, r)
			}
		}
		if !utf8.ValidString(x) {
			t.Fatalf("%q becomes invalid UTF-8", a)
		}
	})
}
