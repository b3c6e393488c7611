package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"clawsh/lib/card"
	"clawsh/lib/config"
	"clawsh/lib/record"
)

// testEnv is an environment with an empty workspace.
func testEnv(t testing.TB) *Env {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{Home: filepath.Join(base, "home"), WorkspaceDir: filepath.Join(base, "ws"),
		Security: config.Security{WorkspaceOnly: true}}
	cfg.Limits = config.Limits{MaxResponseBytes: 1 << 16, MaxOutputBytes: 4096, MaxFileBytes: 1 << 16, ToolTimeoutS: 10,
		ShellTimeoutS: 10, ShellTimeoutMaxS: 10,
		HTTPTimeoutS: 5, ApprovalTimeoutS: 5}
	if err := os.Mkdir(cfg.WorkspaceDir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &Env{Config: cfg, SelfEnv: []string{"PATH=" + os.Getenv("PATH"), "SECRET_API_KEY=hunter2", "LANG=C.UTF-8"}}
}

func recordEncode(v any) (record.Raw, error) { b, err := record.Encode(v); return b, err }

func call(t *testing.T, env *Env, name string, args any) Result {
	t.Helper()
	tool, ok := Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	raw, ok := args.(string)
	if !ok {
		b, err := record.Encode(args)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	return Run(t.Context(), tool, record.Raw(raw), env)
}

// inChild runs the test again in a process of its own, for what changes the whole process. It is true in there.
func inChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv("TOOL_TEST_CHILD") != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "TOOL_TEST_CHILD=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return false
}

// put writes a file of the workspace.
func put(t *testing.T, env *Env, name, content string) string {
	t.Helper()
	path := filepath.Join(env.Config.WorkspaceDir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEachCardHasItsTool: what is on a card is done here, once.
func TestEachCardHasItsTool(t *testing.T) {
	for i, tool := range builtin() {
		if i >= len(card.All()) || tool.Name != card.Names()[i] {
			t.Errorf("row %d is %q; the cards are %q", i, tool.Name, card.Names())
		}
	}
	if len(builtin()) != len(card.All()) {
		t.Errorf("%d tools, %d cards", len(builtin()), len(card.All()))
	}
	for _, c := range card.All() {
		if config.Default(t.TempDir()).Limits.Seconds(c.Timeout) <= 0 || c.TimeoutMost != "" &&
			config.Default(t.TempDir()).Limits.Seconds(c.TimeoutMost) <= 0 {
			t.Errorf("%s: its limits are not in the configuration: %s %s", c.Name, c.Timeout, c.TimeoutMost)
		}
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	env := testEnv(t)
	put(t, env, "a", "text")
	for _, c := range []struct{ tool, args string }{
		{"time", `{"x":1}`}, {"time", `[]`}, {"time", `null`}, {"time", ``}, {"time", `{} {}`},
		{"file_read", `{}`}, {"file_read", `{"Path":"a"}`}, {"file_read", `{"path":"a","path":"b"}`},
		{"file_read", `{"path":1}`},
		{"file_read", `{"path":"a","offset":-1}`}, {"file_read", `{"path":"a","limit":0}`},
		{"file_read", `{"path":"a","offset":1.5}`},
		{"file_read", `{"path":"a","offset":9007199254740993}`}, {"file_read", `{"path":"a","offset":1e400}`},
		{"file_list", `{"max_entries":0}`}, {"file_list", `{"max_entries":1001}`}, {"file_list", `{"recursive":"yes"}`},
		{"file_write", `{"path":"b"}`}, {"file_write", `{"path":"b","content":"x","mode":"truncate"}`},
		{"file_write", `{"content":"x"}`},
		{"shell", `{}`}, {"shell", `{"command":"true","timeout_s":11}`}, {"shell", `{"command":"true","timeout_s":0}`},
		{"shell", `{"command":"true","cwd":"/"}`}, {"http", `{"url":"http://example.com","method":"POST"}`},
		{"http", `{}`},
		{"memory_search", `{}`}, {"memory_search", `{"query":" "}`}, {"memory_search", `{"query":"x","limit":21}`},
		{"memory_search", `{"query":"x","after":"y"}`}, {"memory_search", `{"query":"x","since":"a\u0000b"}`},
		{"memory_search", `{"query":"x","since":7}`},
		{"ask_user", `{}`}, {"ask_user", `{"question":"\n"}`},
	} {
		if r := call(t, env, c.tool, c.args); r.Success || r.Error == "" {
			t.Errorf("%s %s: %+v", c.tool, c.args, r)
		}
	}
	if _, err := os.Stat(filepath.Join(env.Config.WorkspaceDir, "b")); err == nil {
		t.Error("a refused call wrote a file")
	}
}

func TestTime(t *testing.T) {
	r := call(t, testEnv(t), "time", `{}`)
	if !r.Success || !strings.Contains(r.Output, "utc: 2") || !strings.Contains(r.Output, "unix: ") ||
		r.Meta.FinishedAt == "" {
		t.Errorf("%+v", r)
	}
}

// fake is a tool of tests.
func fake(run func(context.Context) Result) Tool {
	t := bind(tellTime)
	t.invoke = func(ctx context.Context, _ record.Raw, _ *Env) Result { return run(ctx) }
	return t
}

func TestRunNamesWhatEndedATool(t *testing.T) {
	env := testEnv(t)
	env.Config.Limits.ToolTimeoutS = 0.05
	hang := fake(func(ctx context.Context) Result { <-ctx.Done(); return failf("whatever") })
	if r := Run(t.Context(), hang, nil, env); r.Error != "timed out after 0.05 s" || !r.Meta.TimedOut ||
		r.Meta.CancelledReason != "" {
		t.Errorf("timeout: %+v", r)
	}
	env.Config.Limits.ToolTimeoutS = 10
	for cause, want := range map[error]string{nil: "cancelled", errors.New("emergency stop"): "emergency stop"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if r := Run(ctx, hang, nil, env); r.Error != want || r.Meta.CancelledReason != want || r.Meta.TimedOut {
			t.Errorf("cancelled by %v: %+v", cause, r)
		}
	}
	if r := Run(t.Context(), fake(func(context.Context) Result { panic("oops") }), nil, env); r.Success ||
		!strings.Contains(r.Error, "oops") {
		t.Errorf("panic: %+v", r)
	}
	if r := Run(t.Context(), fake(func(context.Context) Result { return Result{Success: true, Output: "a\xffb"} }), nil,
		env); r.Output != "a\uFFFDb" {
		t.Errorf("invalid UTF-8: %+v", r)
	}
}

func TestRunLeavesAStuckToolBehind(t *testing.T) {
	env := testEnv(t)
	env.Config.Limits.ToolTimeoutS = 0.01
	release := make(chan struct{})
	defer close(release)
	start := time.Now()
	r := Run(t.Context(), fake(func(context.Context) Result { <-release; return Result{} }), nil, env)
	if !r.Meta.TimedOut || time.Since(start) > 2*stuckGrace {
		t.Errorf("after %v: %+v", time.Since(start), r)
	}
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{"ascii", "HEAD" + strings.Repeat("x", 100_000) + "TAIL"},
		{"wide", "HEAD" + strings.Repeat("€", 50_000) + "TAIL"},
		{"shifted", "HEADa" + strings.Repeat("😀", 50_000) + "TAIL"},
		{"invalid", "HEAD" + strings.Repeat("\xff\xc3a", 50_000) + "TAIL"},
	} {
		for _, chunk := range []int{1, 7, 4096, len(c.in)} {
			o := newOutput(1000)
			for s := c.in; s != ""; {
				n := min(chunk, len(s))
				o.Write([]byte(s[:n]))
				s = s[n:]
			}
			var r Result
			o.into(&r, "")
			if !r.Meta.Truncated || r.Meta.TotalBytes != int64(len(c.in)) || len(r.Output) > 1100 ||
				!utf8.ValidString(r.Output) ||
				!strings.HasPrefix(r.Output, "HEAD") || !strings.HasSuffix(r.Output, "TAIL") ||
				!strings.Contains(r.Output, " bytes) …]") {
				t.Errorf("%s by %d: %d bytes, meta %+v", c.name, chunk, len(r.Output), r.Meta)
			}
			if c.name != "invalid" && strings.ContainsRune(r.Output, utf8.RuneError) {
				t.Errorf("%s by %d: a character was cut through", c.name, chunk)
			}
		}
	}
	o, r := newOutput(1000), Result{}
	o.Write([]byte(strings.Repeat("y", 501)))
	o.Write([]byte(strings.Repeat("z", 499)))
	if o.into(&r, ""); r.Meta.Truncated || r.Output != strings.Repeat("y", 501)+strings.Repeat("z", 499) {
		t.Errorf("what fits was cut: %+v", r.Meta)
	}
}

func TestMemorySearchWithoutClawMem(t *testing.T) {
	env := testEnv(t)
	t.Setenv("PATH", t.TempDir())
	if r := call(t, env, "memory_search", `{"query":"x"}`); r.Success || !strings.Contains(r.Error, "claw-mem") {
		t.Errorf("%+v", r)
	}
}

func TestMemorySearchReadsTheEnvelope(t *testing.T) {
	env := testEnv(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	env.SelfEnv = append(env.SelfEnv, "CLAWSH_HOME=/h")
	for _, c := range []struct{ script, want, fail string }{
		{`printf %s '{"schema_version":"2.0","data":{"hits":[{"conversation_id":"conv-1","ts":"T","role":"user","snippet":"a\nb","more":1},{"snippet":"second"}]}}'`,
			"T conv-1 user: a b\n", ""},
		{`echo '{"schema_version":"2.0","exit_code":1,"error":{"code":"not_found","message":"nothing"}}'; exit 1`,
			"nothing found\n", ""},
		{`echo '{"schema_version":"2.0","exit_code":1,"error":{"code":"x","message":"the store is locked"}}'; exit 1`,
			"", "the store is locked"},
		{`exit 3`, "", "claw-mem: exit status 3, before it answered"},
		{`echo gibberish`, "", "not JSON"},
		{`test "$*" = "search --limit=1 --role=tool --since=--after --output-format json -- -x" && test "$CLAWSH_HOME" = "` +
			env.Config.Home + `" && test -z "$SECRET_API_KEY" && echo '{"schema_version":"2.0","data":{"hits":[]}}'`,
			"nothing found\n", ""},
		{`while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done | /usr/bin/head -c 9000000`, "", "more than"},
	} {
		if err := os.WriteFile(filepath.Join(bin, "claw-mem"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := call(t, env, "memory_search", `{"query":"-x","limit":1,"role":"tool","since":"--after"}`)
		if r.Output != c.want || r.Success != (c.fail == "") || !strings.Contains(r.Error, c.fail) {
			t.Errorf("%s: %+v", c.script, r)
		}
	}
}
