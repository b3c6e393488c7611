package session

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// played is a claw-loop in memory.
type played struct {
	session *Session
	signals chan command.Signal
	told    []string // what the user was told beside the records

	in      *bufio.Reader // what it is sent
	orders  *bufio.Reader
	out     *io.PipeWriter
	err     error // how it ends
	sig     syscall.Signal
	stopped bool
}

func (p *played) Wait() error                { return p.err }
func (p *played) Terminated() syscall.Signal { return p.sig }
func (p *played) Describe() string           { return "claw-loop died" }
func (p *played) Stop(time.Duration) error   { p.stopped = true; return nil }

func play(t *testing.T, ch Channel) *played {
	t.Helper()
	in, sent := io.Pipe()
	out, said := io.Pipe()
	orders, told, err := os.Pipe() // as large as in life: whoever orders does not wait
	if err != nil {
		t.Fatal(err)
	}
	p := &played{in: bufio.NewReader(in), orders: bufio.NewReader(orders), out: said,
		signals: make(chan command.Signal)}
	p.session = &Session{channel: ch, program: p, in: sent, out: out, orders: told}
	p.session.tell = func(event, text string, _ ...any) { p.told = append(p.told, event) }
	p.session.begin(p.signals)
	t.Cleanup(func() { said.Close(); orders.Close(); in.Close() })
	return p
}

// message is what the loop is sent next.
func (p *played) message(t *testing.T) (m record.User) {
	line, err := p.in.ReadBytes('\n')
	if err == nil {
		err = record.DecodeOpen(line[:len(line)-1], &m)
	}
	if err != nil {
		t.Error(err)
	}
	return m
}

// order is what the loop is told next.
func (p *played) order(t *testing.T) string {
	line, err := p.orders.ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *played) say(lines ...string) {
	for _, l := range lines {
		io.WriteString(p.out, l+"\n")
	}
}

// heard is a channel that keeps what it is given, and fails where fail says so.
type heard struct {
	kinds []string
	fail  func(kind record.Kind) error
}

func (*heard) Name() string { return "heard" }

func (h *heard) Update(line record.Line) error { return h.take(line.Kind()) }

func (h *heard) Send(f record.Final, _ []byte) (bool, error) {
	return f.Content == "shown", h.take(record.KindFinal)
}

func (h *heard) take(k record.Kind) error {
	h.kinds = append(h.kinds, string(k))
	if h.fail == nil {
		return nil
	}
	return h.fail(k)
}

const (
	called    = `{"v":1,"kind":"tool_call","id":"call-1","tool":"time","args":{}}`
	answered  = `{"v":1,"kind":"final","id":"f","conversation_id":"conv-1","content":"shown","stop_reason":"final_text"}`
	cancelled = `{"v":1,"kind":"final","id":"f","conversation_id":"conv-1","content":"","stop_reason":"cancelled","error":"ended"}`
)

// TestTurn: each record reaches the channel, in its order, and the loop learns that a call was shown only after it was.
func TestTurn(t *testing.T) {
	h := &heard{}
	p := play(t, h)
	seen := make(chan string, 1)
	go func() {
		m := p.message(t)
		p.say(`{"v":1,"kind":"delta","text":"a"}`, called)
		seen <- p.order(t) + " of " + m.Content + strings.Join(h.kinds, " ")
		p.say(`{"v":1,"kind":"tool_result","id":"call-1","tool":"time"}`, answered)
	}()
	a, err := p.session.Turn("question: ", nil)
	if err != nil || !a.shown || a.Content != "shown" || p.session.Failure(a.Final) != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := <-seen; got != "shown call-1 of question: delta tool_call" {
		t.Error(got)
	}
	if !slices.Equal(h.kinds, []string{"delta", "tool_call", "tool_result", "final"}) {
		t.Error(h.kinds)
	}
	go p.out.Close()
	p.session.Close()
}

// TestSignals: the first signal ends the turn, the same one again is the same wish, and only a Ctrl-C of somebody who
// was told that the turn is ending leaves at once.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		name   string
		exit   int
	}{{os.Interrupt, "INT", 130}, {syscall.SIGTERM, "TERM", 143}, {syscall.SIGHUP, "HUP", 129}} {
		p := play(t, &heard{})
		sig := command.Signal{Signal: c.signal}
		go func() {
			m := p.message(t)
			p.signals <- sig
			p.signals <- sig
			if got, want := p.order(t), "cancel "+c.name+" "+m.ID; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			p.session.remind("another message")
			p.session.remind(m.ID)
			if p.signals <- sig; c.name == "INT" {
				if got := p.order(t); got != "leave" {
					t.Errorf("%s: %s", c.name, got)
				}
			}
			p.say(cancelled)
		}()
		a, err := p.session.Turn("x", nil)
		if err != nil {
			t.Fatal(err)
		}
		e := envelope.From(p.session.Failure(a.Final))
		if e.Exit != c.exit || e.Message != "ended" || !slices.Equal(p.told, []string{"turn_ending"}) {
			t.Errorf("%s: %+v, told %q", c.name, e, p.told)
		}
		p.session.again()
		if ended := p.session.signalled() != nil; ended != (c.name != "INT") {
			t.Errorf("%s: the session has ended: %t", c.name, ended)
		}
	}
}

// TestSignalBeforeTurn: nothing is sent once a signal has ended the session.
func TestSignalBeforeTurn(t *testing.T) {
	p := play(t, &heard{})
	p.signals <- command.Signal{Signal: syscall.SIGTERM}
	p.signals <- command.Signal{Signal: syscall.SIGTERM} // the first one has been taken
	_, err := p.session.Turn("x", nil)
	if e := envelope.From(err); e == nil || e.Exit != 143 || p.order(t) != "leave" {
		t.Errorf("%v", err)
	}
}

type code int

func (c code) Error() string { return "exit status" }
func (c code) ExitCode() int { return int(c) }

// TestGone: however claw-loop ends in the middle of a turn, the turn fails, with its exit code if there is one.
func TestGone(t *testing.T) {
	for _, c := range []struct {
		err  error
		sig  syscall.Signal
		code string
		exit int
	}{{nil, 0, "stage.died", 1}, {code(7), 0, "exit", 7}, {code(-1), 0, "stage.died", 1},
		{errors.New("?"), 0, "stage.died", 1}, {code(-1), syscall.SIGINT, "cancelled", 130}} {
		p := play(t, &heard{})
		p.err, p.sig = c.err, c.sig
		go func() {
			p.message(t)
			p.say(`{"v":1,"kind":"delta","text":"a"}`)
			p.out.Close()
		}()
		_, err := p.session.Turn("x", nil)
		if e := envelope.From(err); e == nil || e.Code != c.code || e.Exit != c.exit {
			t.Errorf("%v, %v: %+v", c.err, c.sig, err)
		}
	}
}

// TestRefused: what claw-loop refuses, and what is not a record, is the error of the turn.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ line, code string }{
		{`{"v":1,"kind":"error","code":"agent.unknown","message":"no","hint":"h"}`, "agent.unknown"},
		{"no record", "error"}, {`{"v":1,"kind":"final","content":7}`, "error"},
	} {
		p := play(t, &heard{})
		go func() { p.message(t); p.say(c.line) }()
		if _, err := p.session.Turn("x", nil); envelope.From(err) == nil || envelope.From(err).Code != c.code {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}

// TestUnread: where nobody reads the answer any more, the turn is ended, not left, and its end is still awaited.
func TestUnread(t *testing.T) {
	for _, kind := range []record.Kind{record.KindDelta, record.KindToolCall, record.KindFinal} {
		p := play(t, &heard{fail: func(k record.Kind) error {
			if k == kind {
				return syscall.EPIPE
			}
			return nil
		}})
		go func() {
			m := p.message(t)
			p.say(`{"v":1,"kind":"delta","text":"a"}`, called)
			for _, want := range map[record.Kind][]string{record.KindDelta: {"cancel INT " + m.ID, "shown call-1"},
				record.KindToolCall: {"shown call-1", "cancel INT " + m.ID}}[kind] {
				if got := p.order(t); got != want {
					t.Errorf("%s: %s, want %s", kind, got, want)
				}
			}
			p.say(answered)
		}()
		a, err := p.session.Turn("x", nil)
		if err != nil || envelope.From(p.session.Failure(a.Final)).Exit != envelope.ExitPipe {
			t.Errorf("%s: %v", kind, err)
		}
	}
	full := errors.New("disk full")
	for _, kind := range []record.Kind{record.KindDelta, record.KindFinal} {
		p := play(t, &heard{fail: func(k record.Kind) error {
			if k == kind {
				return full
			}
			return nil
		}})
		go func() { p.message(t); p.say(`{"v":1,"kind":"delta","text":"a"}`, answered) }()
		if _, err := p.session.Turn("x", nil); !errors.Is(err, full) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
