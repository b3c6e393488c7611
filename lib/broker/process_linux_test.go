package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/tool"
)

// started is a client with a real server, which is this test's program.
func started(t *testing.T, more ...string) (*Client, *tool.Env) {
	t.Helper()
	o := newOptions(t)
	o.Environ = append(o.Environ, more...)
	t.Setenv("TMPDIR", filepath.Dir(o.Config.Home))
	homes, err := tool.MakeHomes()
	must(t, err)
	t.Cleanup(homes.Remove)
	c, err := Start(o, homes.Dir)
	must(t, err)
	t.Cleanup(c.Close)
	env := &tool.Env{Config: o.Config, SelfEnv: o.Environ, Scratch: &tool.Scratch{Dir: homes.Dir}}
	t.Cleanup(env.Scratch.Close)
	c.Equip(env)
	return c, env
}

func sh(ctx context.Context, env *tool.Env, command string) tool.Result {
	t, _ := tool.Lookup("shell")
	args, _ := record.Encode(map[string]string{"command": command})
	return tool.Run(ctx, t, args, env)
}

// server is the process that a test has started.
func (c *Client) server(t *testing.T) int {
	t.Helper()
	below := process.Descendants(os.Getpid())
	if len(below) == 0 {
		t.Fatal("there is no server")
	}
	return below[0]
}

// One call after the other, in an interpreter that a server has started.
func TestProcessRunsScripts(t *testing.T) {
	_, env := started(t)
	asked := 0
	env.Guard = func(_ context.Context, kind, _ string, _ []string) error {
		if kind == tool.GuardExec {
			asked++
		}
		return nil
	}
	for range 3 {
		if r := sh(t.Context(), env, "x=1; echo $x two >file; cat file; exit 3"); r.Output != "1 two\n" ||
			r.Error != "exit status 3" || r.Meta.Sandbox != "off" {
			t.Fatalf("%+v", r)
		}
	}
	if asked != 3 {
		t.Errorf("the guard was asked %d times", asked)
	}
	env.Guard = func(context.Context, string, string, []string) error { return errors.New("not this one") }
	if r := sh(t.Context(), env, "cat file"); !r.Denied || !strings.Contains(r.Error, "not this one") {
		t.Errorf("%+v", r)
	}
}

// A server that is killed while a program runs: its outcome is unknown, and later ones are not run.
func TestProcessServerKilled(t *testing.T) {
	c, env := started(t)
	pid := c.server(t)
	env.Guard = func(_ context.Context, kind, _ string, argv []string) error {
		if kind == tool.GuardExec && strings.HasSuffix(argv[0], "cat") {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		return nil
	}
	if r := sh(t.Context(), env, "cat file"); r.Success || !strings.Contains(r.Error,
		"outcome of this call is unknown") {
		t.Errorf("%+v", r)
	}
	if r := sh(t.Context(), env, "echo no"); r.Success || !strings.Contains(r.Error, ErrDied.Error()) ||
		r.Output != "" {
		t.Errorf("%+v", r)
	}
}

// begun is an output that does something as soon as something is written.
type begun struct {
	once sync.Once
	do   func()
}

func (b *begun) Write(p []byte) (int, error) {
	b.once.Do(b.do)
	return len(p), nil
}

// When the client goes, so does what runs: a launch returns only when nobody has the output any more.
func TestProcessEndsWithItsClient(t *testing.T) {
	c, env := started(t)
	l, err := c.launch(t.Context(), tool.Launch{Output: &begun{do: c.Close}, Home: env.Scratch.Dir,
		Script: tool.Script{Command: "echo begun; sleep 1000", Workspace: env.Config.WorkspaceDir,
			Home: env.Scratch.Dir, Path: []string{"/usr/bin", "/bin"}}})
	if err == nil || l.Report != nil {
		t.Errorf("with a home that is none: %+v, %v", l, err)
	}
	home := env.Scratch.Dir + "/home"
	must(t, os.Mkdir(home, 0o700))
	l, err = c.launch(t.Context(), tool.Launch{Output: &begun{do: c.Close}, Home: home,
		Script: tool.Script{Command: "echo begun; sleep 1000", Workspace: env.Config.WorkspaceDir, Home: home,
			Path: []string{"/usr/bin", "/bin"}}})
	if err != nil || l.Killed != ErrLost.Error() || l.Report != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// A cancelled call is ended by its server, with everything that it has started.
func TestProcessCancels(t *testing.T) {
	c, env := started(t)
	home := env.Scratch.Dir + "/home"
	must(t, os.Mkdir(home, 0o700))
	ctx, cancel := context.WithCancel(t.Context())
	l, err := c.launch(ctx, tool.Launch{Output: &begun{do: cancel}, Home: home,
		Script: tool.Script{Command: "echo begun; setsid sleep 1000", Workspace: env.Config.WorkspaceDir, Home: home,
			Path: []string{"/usr/bin", "/bin"}}})
	if err == nil || l.Report != nil {
		t.Errorf("%+v, %v", l, err)
	}
	if r := sh(t.Context(), env, "echo next"); r.Output != "next\n" {
		t.Errorf("after it: %+v", r)
	}
}

// The child that reads the web answers with a result. What else it says, however long, is not one, and its death is
// not the server's.
func TestProcessFetches(t *testing.T) {
	get, _ := tool.Lookup("http")
	for does, want := range map[string]string{"": "domain", "die": "status 7", "garbage": "without a result",
		"half": "without a result", "flood": "without a result", "fail": "status 9"} {
		_, env := started(t, "CLAWSH_TEST_FETCH="+does)
		for range 2 {
			if r := tool.Run(t.Context(), get, record.Raw(`{"url":"https://example.invalid/x"}`), env); r.Success ||
				!strings.Contains(r.Error, want) {
				t.Errorf("%q: %+v", does, r)
			}
		}
	}
}

// A child that is not of the web's runs nothing.
func TestFetchRunsOnlyWhatReadsTheWeb(t *testing.T) {
	for _, name := range []string{"", "nosuch", "shell", "file_read", "memory_search", "time"} {
		var out strings.Builder
		if err := Fetch(t.Context(), newOptions(t), name, strings.NewReader("{}"), &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %q", name, err, out.String())
		}
	}
}
