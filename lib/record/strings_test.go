package record

import (
	"bytes"
	"strings"
	"testing"
)

func TestMapStrings(t *testing.T) {
	upper := strings.ToUpper
	for raw, want := range map[string]string{
		`null`: `null`, ` [1.50, 1e400 ,true]`: ` [1.50, 1e400 ,true]`, `{"A" : 1}`: `{"A" : 1}`, `"a"`: `"A"`,
		`{"a" : [1.50, {"b":"\u0063"}], "D":null}`: `{"A":[1.50,{"B":"C"}],"D":null}`,
	} {
		if got, err := MapStrings([]byte(raw), upper); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", raw, got, err, want)
		}
	}
	for _, bad := range []string{`{`, `{"a":1,"A":2}`, `"\ud800"`, "\"\xff\"", `[1 2]`, `{"a":1,"a":1}`, `tru`,
		`"a" "b" ]`} {
		if got, err := MapStrings([]byte(bad), upper); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// FuzzMapStrings checks that what is a record stays one, and that nothing but texts changes.
func FuzzMapStrings(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"x","text":"a\u0041\n","n":[1.50,null,true,{"é":"\ud83d\ude00"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := Parse(raw); err != nil {
			return
		}
		same, err := MapStrings(raw, func(s string) string { return s })
		if err != nil || !bytes.Equal(same, raw) {
			t.Fatalf("%q became %q, %v", raw, same, err)
		}
		longer, err := MapStrings(raw, func(s string) string { return s + "x" })
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		back, err := MapStrings(longer, func(s string) string { return strings.TrimSuffix(s, "x") })
		want, err2 := Canonical(raw)
		got, err3 := Canonical(back)
		if err != nil || err2 == nil && (err3 != nil || !bytes.Equal(got, want)) {
			t.Fatalf("%q became %q: %v, %v", raw, back, err, err3)
		}
	})
}

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		text  string
		most  int
		brief string
	}{
		{"", 1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"größer", 6, "größer"}, {"größer", 5, "größ…"},
		{"👍👍👍", 2, "👍…"}, {"a\xff\xfe", 2, "a…"},
	} {
		if got := Brief(c.text, c.most); got != c.brief {
			t.Errorf("Brief(%q, %d) = %q, want %q", c.text, c.most, got, c.brief)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text         string
		bytes        int
		cut, shorten string
	}{
		{"", 0, "", ""}, {"abc", 3, "abc", "abc"}, {"abcdef", 5, "abcde", "ab…"}, {"größer", 3, "gr", "…"},
		{"größer", 4, "grö", "g…"},
		{"größer", 6, "größ", "gr…"}, {"👍👍", 7, "👍", "👍…"},
		{"\xff\xfe\xfd\xfcabc", 5, "\xff\xfe\xfd\xfca", "\xff\xfe…"},
	} {
		if got := Cut(c.text, c.bytes); got != c.cut {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.bytes, got, c.cut)
		}
		if got := Shorten(c.text, c.bytes); got != c.shorten {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.text, c.bytes, got, c.shorten)
		}
	}
}
