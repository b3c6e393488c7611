package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

var errStopped = errors.New("emergency stop")

// asks are calls of each tool that asks its guard, of each kind that a guard is asked about.
var asks = map[string]struct{ tool, args string }{
	"program":         {"shell", `{"command":"true; /bin/true; touch made"}`},
	"program in pipe": {"shell", `{"command":"/bin/true | /bin/true; touch made"}`},
	"redirection in":  {"shell", `{"command":"read x <a.txt; touch made"}`},
	"redirection out": {"shell", `{"command":"echo x >made; touch made"}`},
	"test":            {"shell", `{"command":"[ -e a.txt ]; touch made"}`},
	"glob":            {"shell", `{"command":"echo *; touch made"}`},
	"read":            {"file_read", `{"path":"a.txt"}`},
	"list":            {"file_list", `{"path":"."}`},
	"search":          {"file_search", `{"pattern":"x","path":"a.txt"}`},
	"edit":            {"file_edit", `{"path":"a.txt","edits":[{"old":"x","new":"y"}]}`},
	"write":           {"file_write", `{"path":"made","content":"x"}`},
}

// A guard that nobody waits for any more has refused nothing: the call was interrupted, or its time was up, and ends at
// once.
func TestUndecidedIsNotRefused(t *testing.T) {
	for name, c := range asks {
		for _, end := range []error{context.Canceled, errStopped, nil} { // nil: the time is up
			for _, remote := range []bool{false, true} {
				if c.tool != "shell" && remote {
					continue
				}
				env := testEnv(t)
				put(t, env, "a.txt", "x\n")
				limits := &env.Config.Limits
				limits.ShellTimeoutS, limits.ToolTimeoutS = 5, 5
				if end == nil {
					limits.ShellTimeoutS, limits.ToolTimeoutS = 0.05, 0.05
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				asked := false
				env.Guard = func(ctx context.Context, _, _ string, _ []string) error {
					asked = true
					if end != nil {
						cancel(end)
					}
					<-ctx.Done()
					return context.Cause(ctx)
				}
				if remote {
					env.Launch = oneQuestion
				}
				tool, _ := Lookup(c.tool)
				r := Run(ctx, tool, []byte(c.args), env)
				cancel(nil)
				if !asked || r.Success || r.Denied || r.Meta.TimedOut != (end == nil) || r.Meta.CancelledReason == "" &&
					end != nil {
					t.Errorf("%s, ended by %v, remote %v: asked %v, %+v", name, end, remote, asked, r)
				}
				if made, err := os.Stat(env.Config.WorkspaceDir + "/made"); err == nil {
					t.Errorf("%s, ended by %v: made %s", name, end, made.Name())
				}
			}
		}
	}
}

// What was refused stays refused, though the call is cancelled at that moment.
func TestRefusedIsRefusedThoughCancelled(t *testing.T) {
	for name, c := range asks {
		if c.tool != "shell" {
			continue
		}
		env := testEnv(t)
		ctx, cancel := context.WithCancel(t.Context())
		env.Guard = func(context.Context, string, string, []string) error {
			cancel()
			return errors.New("it is forbidden")
		}
		env.Launch = oneQuestion
		tool, _ := Lookup(c.tool)
		if r := tool.invoke(ctx, []byte(c.args), env); !r.Denied {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// oneQuestion is an interpreter that asks about a program, and is over.
func oneQuestion(ctx context.Context, l Launch) (out Launched, err error) {
	fromR, fromW := io.Pipe()
	go func() {
		sendMessage(fromW, question{ID: 1, Kind: GuardExec, Dir: []byte("/"), Argv: [][]byte{[]byte("/bin/true")}})
		fromW.Close()
	}()
	out.Serve(ctx, l, io.Discard, fromR)
	return out, nil
}
