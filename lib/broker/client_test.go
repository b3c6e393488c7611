package broker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"clawsh/lib/card"
	"clawsh/lib/record"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// asking is a client whose server the test plays.
func asking(t *testing.T) (*Client, *peer) {
	t.Helper()
	f, p := connection(t)
	c, err := newClient(f, newOptions(t).Config)
	must(t, err)
	t.Cleanup(c.Close)
	return c, p
}

type outcome struct {
	Reply
	err error
}

// ask asks on the side.
func ask(ctx context.Context, c *Client, tool string) chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		r, err := c.do(ctx, Request{Tool: tool})
		ch <- outcome{r, err}
	}()
	return ch
}

// Each gets its own reply, in whichever order they come.
func TestClientHandsOutReplies(t *testing.T) {
	c, p := asking(t)
	var waiting []chan outcome
	ids := map[string]int{}
	for _, name := range []string{"a", "b", "c"} {
		waiting = append(waiting, ask(t.Context(), c, name))
		r := p.request()
		ids[r.Tool] = r.ID
	}
	for _, name := range []string{"c", "a", "b"} {
		p.send(Reply{ID: ids[name], Error: name})
	}
	for i, name := range []string{"a", "b", "c"} {
		if r := <-waiting[i]; r.err != nil || r.Error != name {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A cancelled request is told so, and what became of it still counts; without that, the cause does. A reply that
// comes too late is nobody else's.
func TestClientCancels(t *testing.T) {
	c, p := asking(t)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	first := ask(ctx, c, "first")
	id := p.request().ID
	cancel(stopped)
	if r := p.request(); !r.Cancel || r.ID != id {
		t.Errorf("instead of the cancellation of %d: %+v", id, r)
	}
	p.send(Reply{ID: id, Exit: sandbox.Exit{Killed: "stopped"}})
	if r := <-first; r.err != nil || r.Exit.Killed != "stopped" {
		t.Errorf("%+v", r)
	}
	c.grace = time.Millisecond
	late := ask(ctx, c, "late")
	id = p.request().ID
	p.request()
	if r := <-late; !errors.Is(r.err, stopped) {
		t.Errorf("%+v", r)
	}
	next := ask(t.Context(), c, "next")
	r := p.request()
	p.send(Reply{ID: id, Error: "of the late one"})
	p.send(Reply{ID: r.ID, Error: "of the next one"})
	if got := <-next; got.err != nil || got.Error != "of the next one" {
		t.Errorf("%+v", got)
	}
}

// Whatever a server sends that none of ours does: who waits is told that the outcome is unknown, never something
// else's, and nobody asks it any more.
func TestClientTakesNoNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		files int
		died  bool
	}{
		"nothing": {died: true}, "half a length": {says: "\x00\x00", died: true},
		"half a reply": {says: frame(`{"id":1}`)[:8], died: true}, "a length alone": {says: "\x00\x00\x00\x08",
			died: true},
		"text": {says: "panic: runtime error\n"}, "a reply to another request": {says: frame(`{"id":2}`)},
		"a reply to none": {says: frame(`{}`)}, "a reply to an earlier one": {says: frame(`{"id":-1}`)},
		"a request": {says: frame(`{"id":1,"script":true}`)}, "no JSON": {says: frame(`}`)},
		"too long": {says: "\x01\x00\x00\x01{}"}, "a file": {says: frame(`{"id":1}`), files: 1},
		"files": {says: frame(`{"id":1}`), files: 9}, "a result that is none": {says: frame(`{"id":1,"result":[]}`)},
	} {
		client, p := asking(t)
		waits := ask(t.Context(), client, "waits")
		p.request()
		passed, kept := pipes(t, c.files)
		if c.says != "" {
			p.write(c.says, passed...)
		}
		p.hangUp()
		if r := <-waits; !errors.Is(r.err, ErrLost) {
			t.Errorf("%s: %+v", name, r)
		}
		nobodyHas(t, passed, kept)
		_, err := client.do(t.Context(), Request{Tool: "later"})
		var nonsense ProtocolError
		if errors.Is(err, ErrDied) != c.died || errors.As(err, &nonsense) == c.died {
			t.Errorf("%s: later %v", name, err)
		}
		if _, err := p.conn.receive(&Request{}, 0); err == nil {
			t.Errorf("%s: it asks on", name)
		}
	}
}

// Two replies to one request: the second is nobody's.
func TestClientTakesOneReply(t *testing.T) {
	c, p := asking(t)
	waits := ask(t.Context(), c, "waits")
	id := p.request().ID
	p.send(Reply{ID: id, Error: "one"})
	p.send(Reply{ID: id, Error: "two"})
	if r := <-waits; r.err != nil || r.Error != "one" {
		t.Errorf("%+v", r)
	}
	if _, err := p.conn.receive(&Request{}, 0); err == nil {
		t.Error("it asks on")
	}
}

// What cannot be sent is the failure of that call alone.
func TestClientAsksNothingTooLong(t *testing.T) {
	c, p := asking(t)
	var long record.TooLongError
	if _, err := c.do(t.Context(), Request{Tool: strings.Repeat("x", maxMessage)}); !errors.As(err, &long) ||
		len(c.waiting) > 0 {
		t.Errorf("%v, %d wait", err, len(c.waiting))
	}
	waits := ask(t.Context(), c, "waits")
	p.send(Reply{ID: p.request().ID})
	if r := <-waits; r.err != nil {
		t.Error(r.err)
	}
}

// away says what a tool's failure is about.
func TestClientRunsTools(t *testing.T) {
	c, p := asking(t)
	get, _ := tool.Lookup("http")
	for _, reply := range []Reply{{Result: &tool.Result{Success: true, Output: "page"}}, {Error: "no such process"}} {
		got := make(chan tool.Result, 1)
		go func() {
			got <- c.away(t.Context(), get, record.Raw(`{"url":"x"}`), &tool.Env{ConversationID: "conv-1"})
		}()
		r := p.request()
		if r.Tool != "http" || string(r.Args) != `{"url":"x"}` || r.ConversationID != "conv-1" || r.Script {
			t.Errorf("%+v", r)
		}
		reply.ID = r.ID
		p.send(reply)
		if g := <-got; g.Success != (reply.Error == "") || reply.Error != "" && g.Error != "http: no such process" ||
			g.Output != "page" && g.Success {
			t.Errorf("%+v", g)
		}
	}
	p.conn.close()
	if g := c.away(t.Context(), get, record.Raw(`{}`), &tool.Env{}); g.Success || !strings.HasPrefix(g.Error,
		"http: ") {
		t.Errorf("%+v", g)
	}
}

// A script's output arrives whole, and why there was none is told apart.
func TestClientLaunches(t *testing.T) {
	c, p := asking(t)
	for name, test := range map[string]struct {
		reply Reply
		check func(tool.Launched, error) bool
	}{
		"runs": {reply: Reply{Exit: sandbox.Exit{Code: 3, Made: []string{".vimrc"}},
			Report: &sandbox.Report{Engine: "native", Missing: []sandbox.Guarantee{sandbox.CPU}}},
			check: func(l tool.Launched, err error) bool {
				return err == nil && l.Code == 3 && len(l.Made) == 1 && l.Engine == "native" &&
					l.Confinement.Missing[0] == "cpu"
			}},
		"killed": {reply: Reply{Exit: sandbox.Exit{Killed: "memory"}}, check: func(l tool.Launched,
			err error) bool {
			return err == nil && l.Killed == "memory"
		}},
		"no sandbox": {reply: Reply{Error: "no namespaces", Refused: true}, check: func(_ tool.Launched,
			err error) bool {
			var none tool.NoSandboxError
			return errors.As(err, &none) && strings.Contains(err.Error(), "namespaces")
		}},
		"not started": {reply: Reply{Error: "no memory"}, check: func(_ tool.Launched,
			err error) bool {
			return mentions(err, "start the interpreter: no memory")
		}},
	} {
		var out bytes.Buffer
		done := make(chan bool)
		go func() {
			l, err := c.launch(t.Context(), tool.Launch{Script: tool.Script{Command: "echo"}, Home: "/h",
				Obeyed: []string{"x"}, Output: &out})
			done <- test.check(l, err)
		}()
		var r Request
		files, err := p.conn.receive(&r, scriptPipes)
		must(t, err)
		if !r.Script || r.Adapt.Home != "/h" || len(files) != 3 || len(r.Adapt.Obeyed) != 1 {
			t.Fatalf("%s: %+v with %d files", name, r, len(files))
		}
		_, err = files[1].WriteString("output")
		must(t, err)
		closeAll(files)
		test.reply.ID = r.ID
		p.send(test.reply)
		if !<-done || out.String() != "output" {
			t.Errorf("%s: %q, or not that outcome", name, out.String())
		}
	}
	over := make(chan tool.Launched)
	go func() {
		l, err := c.launch(t.Context(), tool.Launch{Output: os.Stderr})
		must(t, err)
		over <- l
	}()
	p.request()
	p.conn.close()
	if l := <-over; l.Killed != ErrLost.Error() {
		t.Errorf("after its death: %+v", l)
	}
}

// The limits of programs that are lower than the interpreter's own are the interpreter's to set.
func TestClientTellsLimits(t *testing.T) {
	c, _ := asking(t)
	c.config.Security.Sandbox, c.config.Sandbox.MemoryBytes, c.config.Sandbox.OpenFiles = "auto",
		sandbox.InterpreterMemory, sandbox.InterpreterFiles
	less := int64(1 << 20)
	for _, test := range []struct {
		asks   *int64
		files  int
		memory int64
		open   int
	}{{nil, sandbox.InterpreterFiles, 0, 0}, {&less, sandbox.InterpreterFiles, less, 0}, {nil, 10, 0, 10}} {
		l := tool.Launch{Ask: card.SandboxAsk{MemoryBytes: test.asks}}
		c.config.Sandbox.OpenFiles = test.files
		if c.limits(&l); l.Script.Memory != test.memory || l.Script.Files != test.open || l.Script.Bare {
			t.Errorf("%+v: %d, %d", test, l.Script.Memory, l.Script.Files)
		}
	}
	c.config.Security.Sandbox = sandbox.Off
	l := tool.Launch{Ask: card.SandboxAsk{MemoryBytes: &less}}
	if c.limits(&l); !l.Script.Bare || l.Script.Memory != 0 {
		t.Errorf("%+v", l.Script)
	}
}
