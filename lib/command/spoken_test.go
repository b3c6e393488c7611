package command

import (
	"bytes"
	"testing"

	"clawsh/lib/secret"
)

// TestSpoken: warnings are sentences for people, and nothing in one ends its line; JSON stays as it is.
func TestSpoken(t *testing.T) {
	for _, c := range []struct {
		msg   string
		attrs []any
		want  string
	}{
		{"provider retry", []any{"event", "provider_retry", "provider", "local", "attempt", 1, "code",
			"provider.unreachable", "status", 0, "wait_ms", int64(500)},
			"prog: warning: no answer from local (provider.unreachable): trying again in 0.5 s\n"},
		{"provider retry", []any{"event", "provider_retry", "provider", "local", "attempt", 1, "code", "c", "status",
			503, "wait_ms", int64(2000)},
			"prog: warning: no answer from local (c, status 503): trying again in 2.0 s\n"},
		{"provider fallback", []any{"event", "provider_fallback", "from", "one", "to", "two", "code", "c"},
			"prog: warning: fallback: no answer from one (c), asking two\n"},
		{"result not kept", []any{"event", "result_not_kept", "call_id", "call-1", "error", "a\nb\x1b[2J"},
			"prog: warning: result not kept (call_id call-1): a\\nb\\x1b[2J\n"},
	} {
		var out bytes.Buffer
		newLogger("prog", &out, func(string) string { return "" }, secret.New(nil)).Warn(c.msg, c.attrs...)
		if out.String() != c.want {
			t.Errorf("%q, want %q", out.String(), c.want)
		}
	}
	var failed bytes.Buffer
	newLogger("prog", &failed, func(string) string { return "" }, secret.New(nil)).
		Error("the log cannot be written", "error", "disk\nfull")
	if want := "prog: error: the log cannot be written: disk\\nfull\n"; failed.String() != want {
		t.Errorf("%q, want %q", failed.String(), want)
	}
	var out bytes.Buffer
	newLogger("prog", &out, func(string) string { return "json" }, secret.New(nil)).
		Warn("provider retry", "event", "provider_retry")
	if !bytes.Contains(out.Bytes(),
		[]byte(`"level":"WARN","msg":"provider retry","app":"prog","event":"provider_retry"`)) {
		t.Errorf("%s", out.String())
	}
}
