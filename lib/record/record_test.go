package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	deep := `{"kind":"x","a":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`
	for _, c := range []struct {
		name, line string
		want       error
	}{
		{"empty", "", ErrSyntax},
		{"blank", "   ", ErrSyntax},
		{"text", "hello", ErrSyntax},
		{"array", `[{"kind":"x"}]`, ErrSyntax},
		{"string", `"kind"`, ErrSyntax},
		{"cut off", `{"kind":"x"`, ErrSyntax},
		{"two objects", `{"kind":"x"}{"kind":"y"}`, ErrSyntax},
		{"trailing text", `{"kind":"x"} x`, ErrSyntax},
		{"no kind", `{"v":1}`, ErrNoKind},
		{"empty kind", `{"kind":""}`, ErrNoKind},
		{"kind is no string", `{"kind":1}`, ErrNoKind},
		{"duplicate kind", `{"kind":"x","kind":"y"}`, ErrSyntax},
		{"duplicate by escape", `{"kind":"x","\u006bind":"y"}`, ErrSyntax},
		{"duplicate nested", `{"kind":"x","args":{"a":1,"a":2}}`, ErrSyntax},
		{"duplicate deep", `{"kind":"x","a":[{"b":{"c":1,"c":1}}]}`, ErrSyntax},
		{"other case", `{"kind":"x","Verdict":{}}`, ErrNameCase},
		{"upper case kind", `{"kind":"x","KIND":"y"}`, ErrNameCase},
		{"kelvin sign", "{\"kind\":\"x\",\"\u212aind\":\"y\"}", ErrNameCase},
		{"long s", "{\"kind\":\"x\",\"arg\u017f\":{}}", ErrNameCase},
		{"escaped case", `{"kind":"x","\u0041rgs":{}}`, ErrNameCase},
		{"invalid UTF-8", "{\"kind\":\"x\",\"a\":\"\xff\"}", ErrSyntax},
		{"lone surrogate", `{"kind":"x","a":"\ud800"}`, ErrSyntax},
		{"raw control", "{\"kind\":\"x\",\"a\":\"\x01\"}", ErrSyntax},
		{"too deep", deep, ErrTooDeep},
		{"far too deep", `{"kind":"x","a":` + strings.Repeat("[", 1<<20), ErrSyntax},
		{"too long", `{"kind":"x","a":"` + strings.Repeat("a", MaxLineBytes) + `"}`, ErrTooLong},
		{"byte order mark", "\ufeff" + `{"kind":"x"}`, ErrSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse([]byte(c.line)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestParseKeepsBytesAndFindsFields(t *testing.T) {
	raw := " { \"a\" : [1, {\"kind\":\"no\"}] ,\t\"k\\\"q\":\"}\\\\\", \"\\u006bind\" : \"to\\u006fl_call\",\"id\":\"c-1\",\"n\":1.10 } "
	l, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if string(l.Bytes()) != raw || l.Kind() != KindToolCall || l.ID() != "c-1" {
		t.Errorf("kind %q id %q bytes %q", l.Kind(), l.ID(), l.Bytes())
	}
	for name, want := range map[string]string{"a": `[1, {"kind":"no"}]`, `k"q`: `"}\\"`, "n": "1.10"} {
		if got, ok := l.Field(name); !ok || string(got) != want {
			t.Errorf("field %s: %s, want %s", name, got, want)
		}
	}
	if _, ok := l.Field("absent"); ok {
		t.Error("found a field that is not there")
	}
}

func TestWith(t *testing.T) {
	l, _ := Parse([]byte(`{"kind":"tool_call","args":{"b":1.0,"a":"\u0041"}} `))
	got, err := l.As(KindToolResult, Field{"status", "denied"}, Field{"n", 1})
	if want := `{"kind":"tool_result","args":{"b":1.0,"a":"\u0041"},"status":"denied","n":1} `; err != nil ||
		string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := l.With(Field{"args", 1}); !errors.Is(err, ErrFieldExists) {
		t.Errorf("replaced a field: %v", err)
	}
	if _, err := l.With(Field{"x", 1}, Field{"x", 2}); !errors.Is(err, ErrFieldExists) {
		t.Errorf("added a field twice: %v", err)
	}
	smuggled, _ := Parse([]byte(`{"kind":"tool_call","verdic\u0074":{}}`))
	if _, err := smuggled.With(Field{"verdict", 1}); !errors.Is(err, ErrFieldExists) {
		t.Errorf("overlooked an escaped name: %v", err)
	}
}

func TestCanonical(t *testing.T) {
	got, err := Canonical([]byte(` {"b" : 1.0, "a":[ -0, 1e2, "\u0041\u00e9" ], "\ufb01":1, "😀":2}`))
	if want := `{"a":[0,100,"Aé"],"b":1,"😀":2,"ﬁ":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{"9007199254740992", "-9007199254740993", "1e400", "-1e400", "1e-400",
		"0.10000000000000000001",
		"1e16", `{"a":[9007199254740993]}`, "123456789012345678901234567890", "3.14159265358979323846"} {
		if out, err := Canonical([]byte(bad)); !errors.Is(err, ErrNumber) {
			t.Errorf("%s became %s, %v", bad, out, err)
		}
	}
	for _, good := range []string{"9007199254740991", "0.1", "1.50", "5e-324", "1.5e-10", "0e99", "0.000001"} {
		if _, err := Canonical([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "{", `{"a":1,"a":1}`, "1 2", "\"\xff\"", "nul"} {
		if _, err := Canonical([]byte(bad)); err == nil {
			t.Errorf("%q is no JSON", bad)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, bad := range []string{`{"path":"a","x":1}`, `{"Path":"a"}`, `{"path":1}`, `{"path":"a"} {}`, `[]`,
		`{"path":"a","path":"b"}`} {
		var v struct {
			Path string `json:"path"`
		}
		if err := Decode([]byte(bad), &v); err == nil {
			t.Errorf("%s was taken as %+v", bad, v)
		} else if strings.Contains(err.Error(), "struct") || strings.Contains(err.Error(), "json:") {
			t.Errorf("%s: message is about Go: %v", bad, err)
		}
	}
}

func TestNewID(t *testing.T) {
	a, b := NewID("call-"), NewID("call-")
	if a == b || len(a) != 41 || a[19] != '7' || a[:13] > b[:13] {
		t.Errorf("ids %s, %s", a, b)
	}
}

// FuzzSplice holds Parse to its law: what it accepts can be spliced, reads back, and is otherwise the same bytes.
func FuzzSplice(f *testing.F) {
	for _, s := range []string{`{"kind":"x"}`, `{"kind":"x","a":{"b":[1,2]}} `, `{"\u006bind":"tool_call","args":"}"}`,
		"{}", "[", `{"kind":"a\\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Parse(b)
		if err != nil {
			return
		}
		out, err := l.With(Field{"fuzz_added", "v"})
		if errors.Is(err, ErrFieldExists) {
			return
		}
		const added = `"fuzz_added":"v"`
		at := bytes.LastIndex(out, []byte(added))
		back := append(bytes.Clone(out[:at]), out[at+len(added):]...)
		if back[at-1] == ',' {
			back = append(back[:at-1], back[at:]...)
		}
		if !bytes.Equal(back, b) {
			t.Fatalf("splice changed other bytes: %q to %q", b, out)
		}
		l2, err := Parse(out)
		if err != nil || l2.Kind() != l.Kind() || l2.Text("fuzz_added") != "v" {
			t.Fatalf("splice does not read back: %q, %v", out, err)
		}
	})
}

// FuzzCanonical checks that the canonical form is a fixed point.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.50,"\u0041"]}`, "1e2", `"😀"`, "-0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Canonical(b)
		if err != nil {
			return
		}
		if d, err := Canonical(c); err != nil || !bytes.Equal(c, d) {
			t.Fatalf("%q: canonical %q, again %q, %v", b, c, d, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"v":1,"kind":"measurement","id":"m-1","text":"` + strings.Repeat("lorem ipsum ", 34) +
		`","n":[1,2,3]}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
