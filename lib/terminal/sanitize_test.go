package terminal

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "": "", "é😀": "é😀", "a\nb": `a\nb`, "\x1b]0;x\a": `\x1b]0;x\x07`, "\x7f": `\x7f`,
		"\u009b2J":  `\u009b2J`,
		"\u202eabc": `\u202eabc`, "a\u200bb": `a\u200bb`, "\U000e0041": `\U000e0041`, "\ufe0f": `\ufe0f`,
		"\xff\xfe": `\xff\xfe`,
		`a\nb`:     `a\\nb`, "\u2028": `\u2028`, "\ue000": `\ue000`, "\t": `\t`, "\ufeff": `\ufeff`, "\u00ad": `\u00ad`,
		"rm\u00a0-r": `rm\u00a0-r`, "\u3000": `\u3000`, "\u034f": `\u034f`, "\u180b": `\u180b`, "\u115f": `\u115f`,
		"\u3164": `\u3164`,
		"\u2800": `\u2800`, "\U000e0100": `\U000e0100`, "\U0010fffd": `\U0010fffd`, "\uffff": `\uffff`,
		"\u0378": `\u0378`, "\ufffd": "\ufffd",
		"\xc3": `\xc3`, "\xed\xa0\x80": `\xed\xa0\x80`, "\xc0\xaf": `\xc0\xaf`, "\x00": `\x00`, "\u0085": `\u0085`,
		"\u2067x\u2069": `\u2067x\u2069`,
		"e\u0301":       "e\u0301", "日本": "日本", "\x9b": `\x9b`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Sanitize("a\r\nb\tc\\d\rx\x1b[2J"); got != "a\nb\tc\\d\\rx\\x1b[2J" {
		t.Errorf("Sanitize: %q", got)
	}
	if got := Sanitize("vingt\u202f% \u3000 \u2028 \u200b"); got != "vingt\u202f% \u3000 \\u2028 \\u200b" {
		t.Errorf("Sanitize: %q", got)
	}
}

func TestStreamingSanitizer(t *testing.T) {
	const text = "wörld \x1b[31m 😀 \u202e \xf0\x9f \xff\xc3 a\r\nb\rc end"
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

func TestStreamingSanitizerHoldsLittleBack(t *testing.T) {
	for in, want := range map[string]string{"a\xf0\x9f\x98": "a", "a\xc3": "a", "a\r": "a", "a\xff": `a\xff`,
		"a\x80\x80\x80\x80": `a\x80\x80\x80\x80`, "a\x1b": `a\x1b`} {
		var b bytes.Buffer
		if n, err := NewSanitizer(&b).Write([]byte(in)); n != len(in) || err != nil || b.String() != want {
			t.Errorf("%q: %q, %d, %v", in, b.String(), n, err)
		}
	}
}

// FuzzSanitizer checks that it makes no difference where a text is split.
func FuzzSanitizer(f *testing.F) {
	f.Add("a\xf0\x9f\x98\x80\r\n", uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, s string, i, j uint8) {
		const end = "." // lets go of what was held back
		var b bytes.Buffer
		w := NewSanitizer(&b)
		first := min(int(i), len(s))
		second := min(first+int(j), len(s))
		for _, part := range []string{s[:first], s[first:second], s[second:], end} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		if want := Sanitize(s + end); b.String() != want {
			t.Fatalf("%q, want %q", b.String(), want)
		}
	})
}

// unescape undoes Escape.
func unescape(t *testing.T, s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits, known := map[byte]int{'x': 2, 'u': 4, 'U': 8, 'n': 0, 'r': 0, 't': 0, '\\': 0}[s[i]]
		n, err := strconv.ParseUint("0"+s[i+1:i+1+digits], 16, 32)
		switch {
		case !known || err != nil:
			t.Fatalf("no escape: %s at %d", s, i)
		case s[i] == 'x':
			b.WriteByte(byte(n))
		case digits > 0:
			b.WriteRune(rune(n))
		default:
			b.WriteByte(map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '\\': '\\'}[s[i]])
		}
		i += digits
	}
	return b.String()
}

// FuzzEscape checks the laws: nothing that a terminal acts on or does not show is left, and Escape can be undone, so
// that different texts stay different.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a\x1b", `\x1b`, "\u202e\xff\u0085\x85", "\U000e0041\ufffd\\\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, a string) {
		x := Escape(a)
		if back := unescape(t, x); back != a {
			t.Fatalf("%q becomes %q, which is %q", a, x, back)
		}
		for _, r := range x + strings.NewReplacer("\n", "", "\t", "").Replace(Sanitize(a)) {
			if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
				unicode.Other_Default_Ignorable_Code_Point) {
				t.Fatalf("%q keeps %U", a, r)
			}
		}
		if !utf8.ValidString(x) || !utf8.ValidString(Sanitize(a)) {
			t.Fatalf("%q becomes invalid UTF-8", a)
		}
	})
}

func TestFitMiddle(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdefgh", 6, "abc…gh"}, {"abcdefgh", 2, "a…"}, {"字字字字字字", 7, "字…字字"},
		{"abcdefg", 5, "ab…fg"},
	} {
		if got := FitMiddle(c.text, c.columns); got != c.want || Columns(got) > c.columns {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
