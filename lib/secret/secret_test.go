package secret

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// sample fills the placeholders of an example with characters that stand for nothing.
func sample(example string) string {
	const letters = "fAk3tEsT5oNlY7nOt9rEaL1"
	n := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '~':
			n++
			return rune(letters[n%len(letters)])
		case '#':
			return '4'
		}
		return r
	}, example)
}

func examples(list []string) []string {
	var out []string
	for _, e := range list {
		out = append(out, sample(e))
	}
	return out
}

func TestShapes(t *testing.T) {
	r := New(nil)
	for _, s := range shapes() {
		if len(s.like) == 0 || len(s.unlike) == 0 {
			t.Errorf("%s: no example", s.kind)
		}
		for _, secret := range examples(s.like) {
			for _, around := range []string{"%s", "x %s y\n", `{"a":"\n%s"}`, "k=%s;", "'%s'", "\t%s\r\n"} {
				out, counts := r.String(fmt.Sprintf(around, secret))
				if counts[s.kind] != 1 || counts.Total() != 1 || !strings.Contains(out, "[withheld: "+s.kind+"]") {
					t.Errorf("%s in %q: %v: %q", s.kind, around, counts, out)
				}
				for n := 0; n+8 <= len(secret); n++ {
					if part := secret[n : n+8]; strings.ContainsAny(part, "0123456789") &&
						strings.Contains(out, part) && !shown(s, part) {
						t.Errorf("%s: %q is left in %q", s.kind, part, out)
					}
				}
			}
		}
		for _, text := range examples(s.unlike) {
			if out, counts := r.String(text); counts != nil {
				t.Errorf("%s: %q became %q", s.kind, text, out)
			}
		}
	}
}

// shown tells whether a part of an example is context, which stays: a host, a bot's number, a label.
func shown(s shape, part string) bool {
	return s.kind == "telegram token" && strings.Trim(part, "0123456789:") == "" ||
		s.kind == "clawsh key" && strings.Contains("clawsh-permit-key-v1 ", part) ||
		s.kind == "url password" && strings.Contains("localhost:6379", part)
}

// TestKeyBlocksInOtherNotations: what programs print before each line does not show the lines.
func TestKeyBlocksInOtherNotations(t *testing.T) {
	lines := []string{"-----BEGIN RSA PRIVATE" + " KEY-----", strings.Repeat("fAk3", 16), strings.Repeat("fAk3", 9) +
		"==", "-----END RSA PRIVATE KEY-----"}
	for _, before := range []string{"", "  ", "> ", "12\t", "+", "dir/id_rsa:3:", "# "} {
		text := before + strings.Join(lines, "\n"+before) + "\nand more"
		if out := New(nil).Text(text); out != before+"[withheld: private key]\nand more" {
			t.Errorf("%q: %q", before, out)
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x89PNG\r\n\x1a\n eyJhbGciOi \xff\x00\x7f AKIA",
		500)))
	for _, text := range []string{
		"", "a", "sk", "sk-", "ghp_", "commit bdb099f1c4ad3aa7d2f5ffb2d9e7a1f30c2c1b5e",
		"call-019df3c2-7b1e-7c3d-9a2b-0123456789ab",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479", "receipt-019df3c27b1e7c3d9a2b0123456789ab",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "data:image/png;base64," + image,
		"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0VdmKQ1Q7ZyP5m8x4b1i8yq9vR6vA0yq0lq1YwqfN0 me@host",
		"https://example.com/a:b/c@d?x=1#y",
		"the password is on the desk; the token expires; Authorization: see below",
		"class=\"sk-fading-circle sk-circle12 sk-child\"",
		"go: github.com/a/b@v1.2.3 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "[withheld: github token]",
		"password=hunter2",
	} {
		if out, counts := New(nil).String(text); counts != nil || out != text {
			t.Errorf("%.80q: %v", text, counts)
		}
	}
}

const value = `p"l/a+i\n?&s3cr3t<W0rd>`

func TestKnownValues(t *testing.T) {
	for _, r := range []*Redactor{New([]string{"MY_TOKEN=" + value}),
		New([]string{New([]string{"MY_TOKEN=" + value}).Export()}), learned(value)} {
		for name, text := range map[string]string{"plain": value, "JSON": strings.NewReplacer(`"`, `\"`, `\`, `\\`).
			Replace(value), "query": url.QueryEscape(value),
			"lower": strings.ToLower(url.QueryEscape("/")) + value, "path": url.PathEscape(value),
			"base64":          base64.StdEncoding.EncodeToString([]byte(value)),
			"base64 URL":      base64.RawURLEncoding.EncodeToString([]byte(value)),
			"base64 behind 1": base64.StdEncoding.EncodeToString([]byte("a" + value + "b")),
			"base64 behind 2": base64.StdEncoding.EncodeToString([]byte("ab" + value + "bcd"))} {
			out, counts := r.String("<" + text + ">")
			if counts["value of MY_TOKEN"] != 1 || counts.Total() != 1 ||
				strings.Contains(out, text[len(text)/2:len(text)-3]) {
				t.Errorf("%s: %v: %s", name, counts, out)
			}
		}
		if strings.Contains(r.Export(), value) ||
			r.Known().Found([]byte(sample("ghp_~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"))) {
			t.Error("Export or Known is more than it says")
		}
	}
}

func learned(value string) *Redactor {
	r := New(nil)
	r.Learn("MY_TOKEN", value)
	return r
}

func TestWhichVariablesAreSecret(t *testing.T) {
	for _, c := range []struct {
		variable string
		secret   bool
	}{
		{"A_KEY=k1y2z3a4b5", true}, {"db_password=Tr0ub4dor&3", true}, {"X_TOKEN=0123456789abcdef", true},
		{"S_SECRET=correct-horse-battery-staple", true},
		{"AWS_SECRET_ACCESS_KEY=/a0B1c2D3e4F5/g6H7", true}, {"QUOTED_KEY='k1y2z3a4b5'", true},
		{"SSH_KEY=/home/me/.ssh/id_ed25519", false}, {"KEY=~/key/file.txt", false}, {"A_TOKEN=disabled", false},
		{"A_KEY=short", false}, {"A_KEY=20260512", false},
		{"A_KEY=aaaaaaaaaaaaaaaa", false}, {"TOKEN=https://example.com/x1Y2", false}, {"PUBLIC_KEY=k1y2z3a4b5", false},
		{"HOME=k1y2z3a4b5", false}, {"A_KEY=keyboard-layout", false},
		{"A_KEY=", false}, {"KEY", false},
	} {
		_, v, _ := strings.Cut(c.variable, "=")
		if got := New([]string{c.variable}).Found([]byte("x " + strings.Trim(v, "'") + " y")); got != c.secret {
			t.Errorf("%s: %t", c.variable, got)
		}
	}
	if r := learned("keys"); !r.Found([]byte("my keys")) {
		t.Error("a value of 4 bytes that was named is not withheld")
	}
	for _, tiny := range []string{"", "key", "value", "[withheld: "} {
		if out, _ := learned(tiny).
			String("the key, the value [withheld: github token]"); out != "the key, the value [withheld: github token]" {
			t.Errorf("%q garbles: %s", tiny, out)
		}
	}
}

func TestExportOfSomebodyElse(t *testing.T) {
	for _, e := range []string{"=", "=2,00", "=1,zz", "=1," + strings.Repeat("0", 32) + ",a:b:c:d:e,A:-1:0000:00:,::::",
		"=1," + strings.Repeat("0", 32) + ",A:3:0000:" + strings.Repeat("0", 32) + ":"} {
		if out := New([]string{Variable + e}).Text("text " + e); out != "text "+e {
			t.Errorf("%q: %q", e, out)
		}
	}
	r := New([]string{New([]string{"A_KEY=k1y2z3a4b5"}).Export(), "B_KEY=k9y8z7a6b5"})
	if out := r.Text("k1y2z3a4b5 k9y8z7a6b5"); out != "[withheld: value of A_KEY] [withheld: value of B_KEY]" {
		t.Error(out)
	}
	if env := r.Environ([]string{Variable + "=old", "A=b"}); len(env) != 2 || env[0] != "A=b" {
		t.Error(env)
	}
}

func TestAStreamHoldsLittleBack(t *testing.T) {
	s := New([]string{"A_KEY=k1y2z3a4b5"}).NewStream()
	if out := s.Next("An ordinary answer, word by word"); len(out) < len("An ordinary answer, word by w") {
		t.Errorf("only %q was passed on", out)
	}
	var b strings.Builder
	w := New(nil).NewLineWriter(&b)
	if w.Write([]byte("{\"a\":\"ghp_\n")); b.String() != "{\"a\":\"ghp_\n" {
		t.Errorf("a whole line is held back: %q", b.String())
	}
	s = New(nil).NewStream()
	for _, endless := range []string{"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("A", 30), "eyJ", "sk-",
		"http://a:", "machine a.b ", "Authorization: "} {
		s.Next(endless)
		for range 1000 {
			s.Next(strings.Repeat("Aa1", 100))
		}
		if len(s.buf) > 8<<10 {
			t.Errorf("%q: %d bytes are held", endless, len(s.buf))
		}
		s.Rest()
	}
}

// FuzzRedact checks that a text loses the same however it comes in pieces, that what was redacted stays so, that a
// known value is gone, and that the result is not much longer than the text.
func FuzzRedact(f *testing.F) {
	for _, s := range shapes() {
		for _, e := range append(examples(s.like), examples(s.unlike)...) {
			f.Add(e, "k1y2z3a4b5", uint8(7))
			f.Add(e+" "+e+e, e[:len(e)/2], uint8(1))
		}
	}
	f.Add("aaaaaaa aaaa", "aaaa", uint8(1))
	f.Fuzz(func(t *testing.T, text, known string, size uint8) {
		r := New(nil)
		r.Learn("K", known)
		whole, counts := r.String(text)
		if len(whole) > 64+16*len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(whole))
		}
		s := r.NewStream()
		out := ""
		for rest := text; rest != ""; {
			n := min(int(size)+1, len(rest))
			out += s.Next(rest[:n])
			rest = rest[n:]
		}
		if utf8.ValidString(text) && !utf8.ValidString(out) {
			t.Fatalf("%q is cut within a character: %q", text, out)
		}
		out += s.Rest()
		if out != whole || s.Counts().Total() != counts.Total() {
			t.Fatalf("%q with %q in pieces of %d: %q, whole %q", text, known, size+1, out, whole)
		}
		if strings.ContainsAny(known, "[]: ") || len(trim(known)) < 8 {
			return // may be a part of a note
		}
		if again := r.Text(whole); again != whole {
			t.Fatalf("%q: %q became %q", text, whole, again)
		}
		if k := trim(known); len(k) <= maxValueBytes && !noted("K", k) && strings.Contains(whole, k) {
			t.Fatalf("%q is in %q", k, whole)
		}
	})
}

func BenchmarkOrdinaryText(b *testing.B) {
	text := []byte(strings.Repeat("The task asks for a map of https://example.com/path and e3b0c44298fc1c14 {\"key\":\"value\"}, skipped.\n", 1<<20/100))
	r := New([]string{"A_KEY=k1y2z3a4b5c6", "B_TOKEN=ghp_0123456789abcdefghij", "C_SECRET=sk-Ab0123456789"})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Bytes(text)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New([]string{"A_KEY=k1y2z3a4b5c6", "B_TOKEN=ghp_0123456789abcdefghij", "C_SECRET=sk-Ab0123456789"})
	}
}
