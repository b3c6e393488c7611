package sibling

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// programs are the siblings that clawsh has.
var programs = []string{"claw-loop", "claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem"}

// Variables of a person: what every program may see, what the configuration's paths name, and the keys, one of which
// looks like nothing.
var environ = []string{"HOME=/h", "CLAWSH_HOME=/elsewhere", "CLAWSH_CONFIG=/elsewhere/config.toml",
	"CLAWSH_WORKSPACE=/elsewhere", "WHERE=/data",
	"OPENAI_API_KEY=key-1", "CLAWSH_PROVIDER=key-2", "LD_PRELOAD=x", "AWS_SECRET=s"}

// configured is a configuration of which paths name WHERE and a provider's key is in the variable.
func configured(t *testing.T, key string) *config.Config {
	t.Helper()
	home := t.TempDir()
	text := `[memory]
path = "$WHERE/memory.sqlite"
[providers.models.openai_compatible]
kind = "openai-compatible"
model = "m"
base_url = "https://example.org/v1"
api_key_env = "` + key + `"
`
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := config.Locate("", func(name string) string {
		return map[string]string{"CLAWSH_HOME": home, "WHERE": "/data", "HOME": "/h"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// install makes every sibling the same script.
func install(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func envelopeOf(data string) string {
	return `echo '{"schema_version":"2.0","exit_code":0,"data":` + data + `}'`
}

func failureOf(exit, failure string) string {
	return `echo '{"schema_version":"2.0","exit_code":` + exit + `,"error":{` + failure + `}}'; exit ` + exit
}

// Whichever way a sibling is reached, keys go to claw-llm and claw-loop alone, and nobody gets what is not on the list.
func TestEnvironmentOfEveryWay(t *testing.T) {
	for key, value := range map[string]string{"OPENAI_API_KEY": "key-1", "CLAWSH_PROVIDER": "key-2"} {
		cfg := configured(t, key)
		install(t, "exec env")
		for _, name := range programs {
			holds := name == "claw-llm" || name == "claw-loop"
			for way, env := range ways(t, cfg, name) {
				has := func(e string) bool { return slices.Contains(env, e) }
				driven := way != "hand over"
				for e, want := range map[string]bool{
					"HOME=/h": true, "WHERE=/data": true, "LD_PRELOAD=x": false, "AWS_SECRET=s": false,
					key + "=" + value: holds && way != "complete", "CLAWSH_DRIVEN=1": driven,
					"CLAWSH_HOME=" + cfg.Home: driven, "CLAWSH_HOME=/elsewhere": !driven,
					"CLAWSH_CONFIG=" + cfg.File: driven, "CLAWSH_CONFIG=/elsewhere/config.toml": !driven,
					"CLAWSH_WORKSPACE=/elsewhere": !driven,
				} {
					if has(e) != want {
						t.Errorf("%s, %s: has %s: %t", name, way, e, !want)
					}
				}
			}
		}
	}
}

// ways are the environments that a sibling has, by the way in which it was reached.
func ways(t *testing.T, cfg *config.Config, name string) map[string][]string {
	t.Helper()
	s := New(cfg, environ, nil)
	spec, err := s.Spec(name)
	if err != nil {
		t.Fatal(err)
	}
	completed, err := s.Complete(t.Context(), name, "x")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]string{"stage": spec.Env, "complete": strings.Split(completed, "\n"),
		"hand over": typed(name, environ, cfg, nil)}
}

// Of a configuration that cannot be read the sibling says why: it gets what the paths name, and no key.
func TestHandOverWithoutConfiguration(t *testing.T) {
	env := typed("claw-llm", environ, nil, errors.New("it cannot be read"))
	if slices.Contains(env, "OPENAI_API_KEY=key-1") || !slices.Contains(env, "CLAWSH_HOME=/elsewhere") {
		t.Errorf("%q", env)
	}
}

func TestQuery(t *testing.T) {
	s := New(&config.Config{Home: t.TempDir()}, environ, nil)
	for _, c := range []struct{ script, want, fail string }{
		{envelopeOf(`{"said":"yes"}`), "yes", ""},
		{envelopeOf(`{"said":"yes","more":1}`), "yes", ""},
		{`read -r x && exit 9; ` + envelopeOf(`{"said":"no input"}`), "no input", ""},
		{`test "$*" = "ask -x --output-format json -- --y" && ` + envelopeOf(`{"said":"words"}`), "words", ""},
		{failureOf("3", `"code":"x","message":"it is locked"`), "", "it is locked"},
		{failureOf("3", `"code":"x","message":"it is locked","details":{"said":"so"}`), "so", "it is locked"},
		{failureOf("3", `"code":"x","message":"it is locked","details":[1]`), "", "it is locked"},
		{`exit 3`, "", "claw-mem: exit status 3, before it answered"},
		{`kill -KILL $$`, "", "claw-mem: killed by signal 9"},
		{`kill -INT $$`, "", "interrupted"},
		{`exit 143`, "", "terminated"},
		{`exit 0`, "", "unusable answer"},
		{`echo gibberish; exit 4`, "", "exit status 4: unusable answer: not JSON"},
		{envelopeOf(`{"said":7}`), "", "said"},
		{envelopeOf(`{}`) + `; ` + envelopeOf(`{}`), "", "unusable answer"},
	} {
		install(t, c.script)
		var got struct {
			Said string `json:"said"`
		}
		err := s.Query(t.Context(), &got, "claw-mem", "ask", "-x", "--", "--y")
		if got.Said != c.want || (err == nil) != (c.fail == "") || err != nil &&
			!strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %q, %v", c.script, got.Said, err)
		}
	}
}

// The exit code of a sibling that failed is its envelope's, and not ours where it had none.
func TestFailuresAreTyped(t *testing.T) {
	s := New(&config.Config{Home: t.TempDir()}, environ, nil)
	for _, c := range []struct {
		script string
		exit   int
	}{
		{failureOf("78", `"code":"config.invalid","message":"m"`), envelope.ExitConfig},
		{`exit 78`, envelope.ExitError},
		{`echo gibberish; exit 78`, envelope.ExitError}, {`kill -KILL $$`, envelope.ExitError},
		{`kill -INT $$`, envelope.ExitInterrupted}, {`kill -TERM $$`, envelope.ExitTerminated},
		{`kill -HUP $$`, envelope.ExitHungUp},
		{`exit 130`, envelope.ExitInterrupted}, {`exit 129`, envelope.ExitHungUp},
	} {
		install(t, c.script)
		var exit *exec.ExitError
		err := s.Query(t.Context(), &struct{}{}, "claw-gate", "x")
		if e := envelope.From(err); e == nil || e.ExitCode() != c.exit || errors.As(err, &exit) {
			t.Errorf("%s: %#v", c.script, err)
		}
	}
}

// A sibling that never stops talking, or never answers, does not hold us up.
func TestEndlessAnswers(t *testing.T) {
	s := New(&config.Config{Home: t.TempDir()}, environ, nil)
	install(t, `trap '' PIPE; exec dd if=/dev/zero bs=65536 2>/dev/null`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Query(ctx, &struct{}{}, "claw-mem", "list"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if _, err := s.Complete(ctx, "claw-mem", "list"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

// Who gives up does not wait for the answer.
func TestQueryIsCancelled(t *testing.T) {
	install(t, `echo begun > "$HOME/begun"; exec sleep 600`)
	home, enough := t.TempDir(), errors.New("enough")
	fifo := filepath.Join(home, "begun")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		os.ReadFile(fifo) // until it has begun
		stop(enough)
	}()
	s := New(&config.Config{Home: home}, []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, nil)
	if err := s.Query(ctx, &struct{}{}, "claw-mem", "list"); !errors.Is(err, enough) {
		t.Error(err)
	}
}

// TestChain starts stages joined by pipes, and none of them if one cannot be.
func TestChain(t *testing.T) {
	spec := func(argv ...string) process.Spec { return process.Spec{Name: argv[0], Path: argv[0], Args: argv[1:]} }
	stages, err := Chain(t.Context(), spec("/bin/cat"), spec("/bin/sed", "s/a/b/"), spec("/bin/sed", "s/b/c/"))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(stages[0].Stdin, "a\n")
	stages[0].Stdin.Close()
	out, err := io.ReadAll(stages[2].Stdout)
	if err != nil || string(out) != "c\n" {
		t.Errorf("%q, %v", out, err)
	}
	for _, s := range stages {
		if code, err := Wait(t.Context(), s); code != 0 || err != nil {
			t.Error(code, err)
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	first := spec("/bin/sleep", "600")
	first.Extra = write
	if stages, err := Chain(t.Context(), first, spec("/nowhere/at/all")); err == nil || stages != nil {
		t.Error(stages, err)
	}
	write.Close()
	io.ReadAll(read) // until the first has ended, too
}

// Show says how a sibling ended that has shown something on our output.
func TestShow(t *testing.T) {
	s := New(&config.Config{Home: t.TempDir()}, environ, nil)
	for _, c := range []struct {
		script string
		code   int
		fail   string
	}{{"exit 0", 0, ""}, {"exit 71", 71, ""}, {"kill -KILL $$", 0, "killed by signal 9"},
		{"kill -TERM $$", 0, "terminated"}} {
		install(t, c.script)
		code, err := s.Show(t.Context(), "claw-gate", "policy")
		if code != c.code || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %d, %v", c.script, code, err)
		}
	}
}

// TestMain becomes a sibling where a test asks for that: whoever hands over is gone.
func TestMain(m *testing.M) {
	if name := os.Getenv("CLAWSH_TEST_BECOME"); name != "" {
		err := HandOver(name, []string{"--as=clawsh x", "two words"}, os.Environ(), nil, errors.New("none"))
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(99)
	}
	os.Exit(m.Run())
}

func TestHandOver(t *testing.T) {
	install(t, `cat; printf '%s|' "$0" "$@"; exit 7`)
	become := func(name string) (*exec.Cmd, string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CLAWSH_TEST_BECOME="+name)
		cmd.Stdin = strings.NewReader("input ")
		out, _ := cmd.CombinedOutput()
		return cmd, string(out)
	}
	cmd, out := become("claw-mem")
	if code := cmd.ProcessState.ExitCode(); code != 7 || !strings.HasPrefix(out, "input /") ||
		!strings.HasSuffix(out, "/claw-mem|--as=clawsh x|two words|") {
		t.Errorf("%d, %q", code, out)
	}
	if cmd, out := become("claw-none"); cmd.ProcessState.ExitCode() != 99 || !strings.Contains(out, "find claw-none") {
		t.Errorf("%d, %q", cmd.ProcessState.ExitCode(), out)
	}
	install(t, `kill -TERM $$`)
	if cmd, _ := become("claw-mem"); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v", cmd.ProcessState)
	}
}

// Place tells claw-mem where a conversation is held.
func TestPlace(t *testing.T) {
	install(t, "")
	s := New(&config.Config{Home: "/h", WorkspaceDir: "/ws"}, nil, nil).At("tty7")
	spec, err := s.Memory("coder")
	if err != nil || !slices.Equal(spec.Args, []string{"--agent", "coder", "--directory=/ws", "--terminal=tty7"}) {
		t.Errorf("%q, %v", spec.Args, err)
	}
	var names []string
	specs, err := s.Tools()
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	if err != nil || !slices.Equal(names, []string{"claw-gate", "claw-exec", "claw-receipt"}) {
		t.Errorf("%q, %v", names, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := s.Tools(); err == nil || !strings.Contains(err.Error(), "find claw-gate") {
		t.Error(err)
	}
	err = s.Query(t.Context(), new(record.Raw), "claw-mem", "list")
	if err == nil || !strings.Contains(err.Error(), "find claw-mem") {
		t.Error(err)
	}
}
