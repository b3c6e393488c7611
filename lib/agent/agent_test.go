package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// working is a runner with a loop, and a function that returns why it was told to end, if it was.
func working(t *testing.T) (r *runner, ended func() error) {
	ctx, stop := context.WithCancelCause(t.Context())
	r = newRunner(&command.Call{Log: slog.New(slog.DiscardHandler)}, stop)
	r.ready(loop.New(loop.Options{}))
	return r, func() error { return context.Cause(ctx) }
}

// running begins the turn of a message, and returns why it ended, if it did.
func running(t *testing.T, r *runner, message string) func() error {
	ctx, cancel := context.WithCancelCause(t.Context())
	r.running(message, cancel)
	return func() error { return context.Cause(ctx) }
}

// TestCancelOrdersAreAboutOneTurn: an order for the running turn ends it, one for a later turn ends that one, and only
// TERM and HUP end the program.
func TestCancelOrdersAreAboutOneTurn(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, message := range []string{"msg-1", "msg-2", "msg-3"} {
			r, ended := working(t)
			first := running(t, r, "msg-1")
			s := command.Signal{Signal: sig}
			r.cancelTurn(message, s)
			if now := message == "msg-1" || s.Ends(); (first() != nil) != now || (ended() != nil) != s.Ends() {
				t.Errorf("%v for %s: turn %v, program %v", sig, message, first(), ended())
			}
			r.running("", nil)
			second := running(t, r, "msg-2")
			if (second() != nil) != (message == "msg-2" && !s.Ends()) {
				t.Errorf("%v for %s: the second turn: %v", sig, message, second())
			}
		}
	}
}

// Before there is a loop, every order to end is for the one turn that is prepared.
func TestOrderWhilePreparing(t *testing.T) {
	r, ended := working(t)
	r.loop = nil
	r.cancelTurn("msg-1", command.Signal{Signal: os.Interrupt})
	if ended() == nil {
		t.Error("it continues")
	}
}

// TestOrders reads orders as clawsh writes them; what it does not know is ignored.
func TestOrders(t *testing.T) {
	for text, want := range map[string]string{"cancel INT msg-1": "turn", "cancel TERM msg-1": "turn program",
		"cancel HUP msg-9": "turn program", "leave": "program", "": "", "shown": "", "cancel": "", "cancel INT": "",
		"dance msg-1": "", "cancel INT msg-10": "", "CANCEL INT msg-1": "", "leave now": "program"} {
		read, write, err := os.Pipe()
		must(t, err)
		r, ended := working(t)
		turn := running(t, r, "msg-1")
		_, err = io.WriteString(write, text+"\nshown call-1\n")
		must(t, errors.Join(err, write.Close()))
		fd, err := syscall.Dup(int(read.Fd()))
		must(t, errors.Join(err, read.Close()))
		r.orders(fd)
		var got []string
		if turn() != nil {
			got = append(got, "turn")
		}
		if ended() != nil {
			got = append(got, "program")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q ends %q, want %q", text, got, want)
		}
		must(t, r.shown(t.Context(), "call-1"))
		must(t, r.shown(t.Context(), "call-2")) // nobody is there any more to see it
	}
}

// A call waits until people have seen it, or its turn has ended.
func TestSeen(t *testing.T) {
	s := newSeen()
	done := make(chan error, 1)
	go func() { done <- s.wait(t.Context(), "call-1") }()
	s.add("call-2")
	s.add("call-1")
	must(t, <-done)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	if err := s.wait(ctx, "call-1"); err == nil || err.Error() != "over" {
		t.Errorf("seen once, waited for twice: %v", err)
	}
}

// TestFactsFollowTheLevel: a model is told what a call would come to under the configuration in force.
func TestFactsFollowTheLevel(t *testing.T) {
	at := func(change func(c *config.Config)) string {
		cfg := config.Default("/home/of/nobody")
		cfg.WorkspaceDir = "/work\x1b[2J"
		change(cfg)
		return facts(cfg, 5, true)(time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC))
	}
	for want, change := range map[string]func(c *config.Config){
		"you can look, and change or run nothing": func(c *config.Config) { c.Security.Autonomy = "readonly" },
		"nothing asks; what is blocked is denied": func(c *config.Config) { c.Security.Autonomy = "full" },
		"other commands are denied":               func(c *config.Config) { c.Security.High = "deny" },
		"so do all others":                        func(c *config.Config) { c.Security.High = "ask" },
		"so do commands that only read":           func(c *config.Config) { c.Security.Harmless = "low" },
		"Only data/ and output/ can be written":   func(c *config.Config) { c.Sandbox.Layout = "staged" },
		"Also readable: /a /b.":                   func(c *config.Config) { c.Security.ReadRoots = []string{"/a", "/b"} },
		".git read-only; 5 rounds of tool calls.": func(c *config.Config) { c.Sandbox.GitWrite = false },
		"Today is Sunday, 2026-11-22.":            func(*config.Config) {},
	} {
		if text := at(change); !strings.Contains(text, want) || strings.Contains(text, "\x1b") {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if text := facts(config.Default("/h"), 5, false)(time.Now()); strings.Contains(text, "Workspace") {
		t.Errorf("without tools: %q", text)
	}
}

// TestSystemPrompt: a name of a file is that file, other text is itself, and what looks like a path must be a file.
func TestSystemPrompt(t *testing.T) {
	dir := t.TempDir()
	good, long, binary := filepath.Join(dir, "good"), filepath.Join(dir, "long"), filepath.Join(dir, "binary")
	must(t, os.WriteFile(good, []byte("be brief"), 0o600))
	must(t, os.WriteFile(long, make([]byte, maxPromptBytes+1), 0o600))
	must(t, os.WriteFile(binary, []byte{0xff, 0xfe}, 0o600))
	for given, want := range map[string]string{good: "be brief", "be kind": "be kind", "kind": "kind",
		"see a/b.txt first": "see a/b.txt first"} {
		if text, err := systemPrompt(given); err != nil || text != want {
			t.Errorf("%s: %q, %v", given, text, err)
		}
	}
	for _, given := range []string{long, binary, dir, filepath.Join(dir, "none"), "prompt.md"} {
		if text, err := systemPrompt(given); envelope.From(err).Code != "usage" {
			t.Errorf("%s: %q, %v", given, text, err)
		}
	}
}

// TestEditedConfigurationEndsTurns: a turn after a configuration that cannot be read says what to do, but a cancelled
// one says that it was cancelled.
func TestEditedConfigurationEndsTurns(t *testing.T) {
	e := envelope.From(again(envelope.Errorf(envelope.ExitConfig, "config.invalid", "bad").WithHint("look")))
	if e.Code != "config.invalid" || !strings.HasPrefix(e.Hint, "look; fix it, then send the message again") {
		t.Errorf("%+v", e)
	}
	cancelled := envelope.Cancelled(syscall.SIGINT)
	if e := envelope.From(again(cancelled)); e.Code != "cancelled" || e.Hint != cancelled.Hint {
		t.Errorf("%+v", e)
	}
	for rule, want := range map[string]bool{"policy.changed": true, "path.outside": false} {
		if got := outdated(record.Final{Denials: []record.Denial{{Rule: "estop"}, {Rule: rule}}}); got != want {
			t.Errorf("%s: %v", rule, got)
		}
	}
	for code, want := range map[string]bool{"cancelled": true, "config.invalid": true, "receipt.failed": false,
		"": false} {
		if toldElsewhere(code) != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
}

// The signature of a memory changes when either of its files does.
func TestSignature(t *testing.T) {
	path, before := filepath.Join(t.TempDir(), "memory.db"), ""
	for i, name := range []string{path, path + "-wal", path, path + "-wal"} {
		must(t, os.WriteFile(name, []byte(strings.Repeat("x", i+1)), 0o600))
		now := signature(path)
		if now == before {
			t.Errorf("the same after change %d: %s", i, fmt.Sprint(now))
		}
		before = now
	}
}
