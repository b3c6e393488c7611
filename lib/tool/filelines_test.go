package tool

import (
	"fmt"
	"strings"
	"testing"

	"clawsh/lib/card"

	"clawsh/lib/secret"
)

func TestFileReadByLines(t *testing.T) {
	env := testEnv(t)
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d\r\n", i+1)
	}
	put(t, env, "f", b.String())
	put(t, env, "unended", "a\nb")
	put(t, env, "empty", "")
	put(t, env, "wide", strings.Repeat("é", 10_000)+"\nend\n")
	put(t, env, "big", strings.Repeat("0123456789\n", 10_000)) // more than max_file_bytes
	for _, c := range []struct{ args, want string }{
		{`{"path":"f","from_line":2,"lines":2}`,
			"     2\tline 2\n     3\tline 3\n[lines 2 to 3 of 1000; continue with from_line 4]\n"},
		{`{"path":"f","from_line":999}`, "   999\tline 999\n  1000\tline 1000\n[lines 999 to 1000, the last]\n"},
		{`{"path":"f","lines":1}`, "     1\tline 1\n[lines 1 to 1 of 1000; continue with from_line 2]\n"},
		{`{"path":"unended","from_line":1}`, "     1\ta\n     2\tb\n[all 2 lines]\n"},
		{`{"path":"empty","from_line":1}`, "(empty)\n"},
		{`{"path":"big","from_line":9999}`,
			"  9999\t0123456789\n 10000\t0123456789\n[lines 9999 to 10000, the last]\n"},
	} {
		if r := call(t, env, "file_read", c.args); !r.Success || r.Output != c.want || r.Meta.Truncated {
			t.Errorf("%s: %q %s", c.args, r.Output, r.Error)
		}
	}
	r := call(t, env, "file_read", `{"path":"f","from_line":1}`)
	if !r.Success || r.Meta.Truncated || len(r.Output) > 4096 ||
		!strings.Contains(r.Output, "of 1000; continue with from_line ") {
		t.Errorf("what does not fit: %d bytes, %.100q", len(r.Output), r.Output)
	}
	r = call(t, env, "file_read", `{"path":"wide","from_line":1}`)
	if !r.Success || strings.ContainsRune(r.Output, '\uFFFD') || !strings.Contains(r.Output, "é…\n     2\tend\n") {
		t.Errorf("a wide line: %.80q… %s", r.Output, r.Error)
	}
}

func TestFileReadByLinesRefuses(t *testing.T) {
	env := testEnv(t)
	hostile(t, env)
	put(t, env, "f", "a\n")
	put(t, env, "bin", "a\nb\x00\n")
	for args, want := range map[string]string{
		`{"path":"f","from_line":0}`:            "1 or more",
		`{"path":"f","lines":0}`:                "1 or more",
		`{"path":"f","from_line":-3}`:           "1 or more",
		`{"path":"f","from_line":1,"offset":0}`: "not both",
		`{"path":"f","from_line":"1"}`:          "from_line",
		`{"path":"f","from_line":3}`:            "past the end: it has 1 line",
		`{"path":"bin","from_line":1}`:          "binary",
		`{"path":"out","from_line":1}`:          "outside",
		`{"path":"fifo","lines":1}`:             "named pipe",
	} {
		if r := call(t, env, "file_read", args); r.Success || r.Output != "" || !strings.Contains(r.Error, want) {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
}

// TestLinesKeepTheirNumbersBehindASecret: a key of many lines is withheld, from whichever line on is read.
func TestLinesKeepTheirNumbersBehindASecret(t *testing.T) {
	env := testEnv(t)
	env.Secrets = secret.New(nil)
	body := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n", 20)
	put(t, env, "key", "first\n-----BEGIN PRIVATE KEY-----\n"+body+"-----END PRIVATE KEY-----\nlast\n")
	r := call(t, env, "file_read", `{"path":"key","from_line":1}`)
	if !r.Success || strings.Contains(r.Output, "MIIE") || !strings.Contains(r.Output, "     2\t[withheld: ") ||
		!strings.Contains(r.Output, "    24\tlast\n[all 24 lines]") || r.Meta.Withheld != 1 {
		t.Errorf("%+v", r)
	}
	if r = call(t, env, "file_read", `{"path":"key","from_line":10}`); strings.Contains(r.Output, "MIIE") ||
		!strings.Contains(r.Output, "    24\tlast\n") {
		t.Errorf("from its middle on: %+v", r)
	}
	if r = call(t, env, "file_search", `{"pattern":"MIIE|last"}`); strings.Contains(r.Output, "MIIE") ||
		!strings.Contains(r.Output, "key:24: last\n") {
		t.Errorf("searched: %+v", r)
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add("a\nb\r\n\nc", int64(1), int64(2), 500)
	f.Add(strings.Repeat("é", 3000), int64(1), int64(1), 300)
	f.Fuzz(func(t *testing.T, text string, from, lines int64, limit int) {
		if from < 1 || lines < 1 || limit < 200 || limit > 1<<20 {
			return
		}
		out, err := readLines(t.Context(), strings.NewReader(text), card.ReadArgs{FromLine: &from, Lines: &lines},
			int64(len(text)), limit)
		if err != nil {
			return
		}
		if len(out) > limit+maxLineBytes {
			t.Fatalf("%d bytes, the limit is %d", len(out), limit)
		}
		have := strings.SplitAfter(text, "\n")
		for l := range strings.Lines(out) {
			var n int
			number, shown, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			if _, err := fmt.Sscanf(number, "%d", &n); !ok || err != nil {
				continue // the note behind the lines
			}
			if n < 1 || n > len(have) || !strings.HasPrefix(have[n-1], strings.TrimSuffix(shown, "…")) {
				t.Fatalf("line %d is %q, not %q", n, have[n-1], shown)
			}
		}
	})
}
