package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

type answer struct {
	Value string `json:"value"`
}

func (a answer) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, a.Value)
	return err
}

func app() App {
	name := ""
	return App{Name: "prog", Summary: "s", Commands: []Command{
		{Summary: "root", Example: "prog", Max: 0,
			Run: func(context.Context, *Call) (Result, error) { return answer{"root"}, nil }},
		{Name: "say", Args: "WORD", Min: 1, Max: 1, Summary: "say", Example: "prog say x", Envelope: "word say",
			Flags: func(f *pflag.FlagSet) { f.StringVar(&name, "name", "", "a `NAME`") },
			Run:   func(_ context.Context, c *Call) (Result, error) { return answer{c.Args[0] + name}, nil }},
		{Name: "group fail", Summary: "fail", Example: "prog group fail",
			Run: func(context.Context, *Call) (Result, error) {
				return answer{"detail"}, envelope.Errorf(7, "it.failed", "it failed: \x1b[2J").WithHint("do better")
			}},
		{Name: "plain", Summary: "p", Example: "prog plain",
			Run: func(context.Context, *Call) (Result, error) { return nil, errors.New("plain error") }},
		{Name: "hand", HandOver: true, Max: -1, Summary: "h", Example: "prog hand",
			Run: func(_ context.Context, c *Call) (Result, error) {
				return answer{strings.Join(c.Raw, "|")}, nil
			}},
		{Name: "secret", Hidden: true, Summary: "x", Example: "x",
			Run: func(context.Context, *Call) (Result, error) { return answer{"hidden"}, nil }},
	}}
}

func run(args ...string) (out, errOut string, code int) {
	var o, e bytes.Buffer
	code = app().Run(context.Background(), args, strings.NewReader(""), &o, &e, nil)
	return o.String(), e.String(), code
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		args        string
		out, errOut string
		code        int
	}{
		{"", "root\n", "", 0}, {"say x", "x\n", "", 0}, {"say x --name=y", "xy\n", "", 0},
		{"secret", "hidden\n", "", 0}, {"--version", "prog " + Version + "\n", "", 0},
		{"group fail", "detail\n", "prog: error: it failed: \\x1b[2J\nprog: hint: do better\n", 7},
		{"plain", "", "prog: error: plain error\n", 1},
		{"say", "", "prog: error: prog say needs WORD\nprog: hint: usage: prog say [FLAGS] WORD\n", 64},
		{"say a b", "", "takes no argument \"b\"", 64}, {"sya x", "", "did you mean prog say?", 64},
		{"zzzzzz", "", "see prog --help", 64},
		{"group", "", "group needs a command: fail", 64}, {"group nope", "", "unknown command \"nope\" of group", 64},
		{"--nope", "", "unknown flag: --nope", 64},
		{"say x --output-format yaml", "", "want text or json", 64}, {"say x --jq ][", "", "--jq", 64},
		{"hand --a -b c --jq x", "--a|-b|c|--jq|x\n", "", 0},
		{"say --help", "usage: prog say [FLAGS] WORD", "", 0}, {"help say", "usage: prog say", "", 0},
		{"help nope", "", "unknown command", 64},
	} {
		out, errOut, code := run(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errOut, c.errOut) || c.out == "" &&
			out != "" || c.errOut == "" && errOut != "" {
			t.Errorf("prog %s: exit %d\n%q\n%q", c.args, code, out, errOut)
		}
	}
}

func TestEnvelope(t *testing.T) {
	for _, c := range []struct{ args, command, code string }{
		{"", "prog", ""}, {"say x", "word say", ""}, {"group fail", "group fail", "it.failed"},
		{"plain", "plain", "error"}, {"say", "word say", "usage"},
		{"--nope", "prog", "usage"}, {"say --nope", "word say", "usage"}, {"help", "help", ""},
		{"say --help", "word say", ""}, {"completion tcsh", "completion", "usage"},
	} {
		for _, form := range [][]string{{"--output-format", "json"}, {"--output-format=json"}} {
			out, errOut, code := run(append(strings.Fields(c.args), form...)...)
			var e envelope.Envelope
			if err := record.DecodeOpen([]byte(out), &e); err != nil || errOut != "" || strings.Count(out, "\n") != 1 {
				t.Fatalf("prog %s: %v: %q %q", c.args, err, out, errOut)
			}
			got := ""
			if e.Error != nil {
				got = e.Error.Code
			}
			if e.ExitCode != code || e.Command != c.command || got != c.code {
				t.Errorf("prog %s: exit %d: %s", c.args, code, out)
			}
		}
	}
}

func TestJQ(t *testing.T) {
	if out, _, code := run("say", "x", "--jq", ".data.value, .exit_code"); out != "x\n0\n" || code != 0 {
		t.Errorf("%q, %d", out, code)
	}
	if out, errOut, code := run("plain", "--jq", ".data"); out != "" || code != 1 ||
		!strings.Contains(errOut, "plain error") {
		t.Errorf("%q, %q, %d", out, errOut, code)
	}
	if _, errOut, code := run("say", "x", "--jq", "error(\"x\")"); code != 1 || !strings.Contains(errOut, "--jq") {
		t.Errorf("%q, %d", errOut, code)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatFails(t *testing.T) {
	var e bytes.Buffer
	if code := app().Run(context.Background(), []string{"say", "x"}, nil, failing{syscall.ENOSPC}, &e,
		nil); code != 1 || !strings.Contains(e.String(), "no space left") {
		t.Errorf("a full disk: exit %d, %s", code, e.String())
	}
	e.Reset()
	if code := app().Run(context.Background(), []string{"say", "x"}, nil, failing{syscall.EPIPE}, &e, nil); code != 0 ||
		e.Len() > 0 {
		t.Errorf("a closed pipe: exit %d, %s", code, e.String())
	}
}

func TestLogLevels(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{{nil, ""}, {map[string]string{"CLAWSH_LOG_LEVEL": "info"},
		"prog: level=INFO msg=\"tool denied\" event=tool_denied tool=\"a\\nb\"\n"},
		{map[string]string{"CLAWSH_LOG": "json", "CLAWSH_LOG_LEVEL": "error"}, ""}} {
		var b bytes.Buffer
		c2 := &Call{Log: newLogger("prog", &b, func(n string) string { return c.env[n] }, nil)}
		c2.Event(EventToolDenied, "tool", "a\nb")
		if b.String() != c.want {
			t.Errorf("%v: %q", c.env, b.String())
		}
	}
	var b bytes.Buffer
	c := &Call{Log: newLogger("prog", &b, func(n string) string { return map[string]string{"CLAWSH_LOG": "json"}[n] },
		nil)}
	c.Event(EventStartup, "version", "1")
	var line struct{ Time, Level, Msg, App, Event, Version string }
	if err := record.DecodeOpen(bytes.ReplaceAll(b.Bytes(), []byte(`"time"`), []byte(`"Time"`)), &line); err != nil ||
		!strings.Contains(b.String(), `"event":"startup"`) {
		t.Errorf("%v: %s", err, b.String())
	}
}
