// Package session is what a channel has with the agent: a claw-loop that runs, the messages that it is sent, what is
// shown while it answers, and how a turn ends. A program of a channel says where messages come from and what a signal
// is; the rest is here.
//
// A Session knows nothing about terminals, pipes or pages: it hands each record to a Channel, of which there are two
// here: Terminal, for people, and Pipe, for programs.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
)

// Session is a running claw-loop.
type Session struct {
	channel Channel
	program program
	in      io.WriteCloser
	out     io.Reader
	lines   *record.LineReader // of out
	orders  io.WriteCloser     // what claw-loop is told beside its input
	tell    func(event, text string, attrs ...any)
	done    chan struct{}

	unread bool // the reader of our output has gone

	mu      sync.Mutex
	idle    func(command.Signal) // guarded by mu
	message string               // the one that is being answered; guarded by mu
	told    bool                 // to end its turn; guarded by mu
	late    bool                 // it has not ended for a while, and the user knows; guarded by mu
	ended   *command.Signal      // the last signal; guarded by mu
}

// program is what a session needs of the process that it talks to.
type program interface {
	Wait() error
	Terminated() syscall.Signal
	Describe() string
	Stop(grace time.Duration) error
}

// Start starts claw-loop with the given flags, for a channel. It gets the provider keys to pass them on to claw-llm.
func Start(ctx context.Context, c *command.Call, cfg *config.Config, ch Channel, args []string) (*Session, error) {
	siblings := sibling.New(cfg, c.Environ, os.Stderr)
	spec, err := siblings.Spec("claw-loop", append(args, "--control=3")...)
	if err != nil {
		return nil, err
	}
	theirs, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer theirs.Close()
	spec.Extra = theirs
	st, err := process.Start(ctx, spec)
	if err != nil {
		orders.Close()
		return nil, fmt.Errorf("start claw-loop: %w", err)
	}
	s := &Session{channel: ch, program: st, in: st.Stdin, out: st.Stdout, orders: orders, tell: c.Tell}
	s.begin(c.Signals)
	c.Event(command.EventChannelStarted, "channel", ch.Name())
	return s, nil
}

// begin reads what claw-loop says, and takes signals.
func (s *Session) begin(signals <-chan command.Signal) {
	s.lines, s.done = record.NewLineReader(s.out), make(chan struct{})
	go s.signals(signals)
}

// order tells claw-loop something at once. One that is gone needs no orders.
func (s *Session) order(format string, args ...any) { fmt.Fprintf(s.orders, format+"\n", args...) }

// Turn sends one message, shows what happens, and returns the answer.
func (s *Session) Turn(message string, metadata record.Raw) (Answer, error) {
	id := record.NewID("msg-")
	user := record.User{V: record.Version, Kind: record.KindUser, ID: id, Content: message, Metadata: metadata}
	line, err := record.Encode(user)
	if err != nil {
		return Answer{}, err
	}
	s.running(id)
	defer s.running("")
	if sig := s.signalled(); sig != nil {
		s.order("leave")
		return Answer{}, interrupted(*sig)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return Answer{}, s.gone()
	}
	for {
		raw, err := s.lines.Whole()
		if err != nil {
			return Answer{}, s.gone()
		}
		answer, err := s.show(raw)
		if errors.Is(err, syscall.EPIPE) { // nobody reads the answer any more: the turn ends, and what was done is kept
			s.unread, err = true, nil
			s.order("cancel INT %s", id)
		}
		if err != nil {
			return Answer{}, err
		}
		if answer != nil {
			return *answer, nil
		}
	}
}

// show passes one record to the channel. There is an answer once the turn has ended.
func (s *Session) show(raw []byte) (*Answer, error) {
	line, err := record.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read what claw-loop says: %w", err)
	}
	switch line.Kind() {
	case record.KindFinal:
		return s.final(raw)
	case record.KindError:
		var e record.Error
		if err := record.DecodeOpen(raw, &e); err != nil {
			return nil, err
		}
		return nil, &envelope.Error{Code: e.Code, Message: e.Message, Hint: e.Hint, Exit: envelope.ExitError}
	}
	err = s.channel.Update(line)
	if line.Kind() == record.KindToolCall {
		s.order("shown %s", line.ID())
	}
	return nil, err
}

// final ends a turn. One that nobody reads has ended, too.
func (s *Session) final(raw []byte) (*Answer, error) {
	var a Answer
	if err := record.DecodeOpen(raw, &a.Final); err != nil {
		return nil, fmt.Errorf("read the final record: %w", err)
	}
	var err error
	a.shown, err = s.channel.Send(a.Final, raw)
	if s.unread = s.unread || errors.Is(err, syscall.EPIPE); !s.unread && err != nil {
		return nil, err
	}
	return &a, nil
}

// gone says how claw-loop ended when it should not have. Its own message, if it had one, is on standard error already.
func (s *Session) gone() error {
	s.in.Close()
	err := s.program.Wait()
	if sig := s.signalled(); sig != nil {
		return interrupted(*sig)
	}
	if sig := s.program.Terminated(); sig != 0 {
		return envelope.Cancelled(sig)
	}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return command.Exit(exit.ExitCode())
	}
	return envelope.Errorf(envelope.ExitError, "stage.died", "%s; the turn could not be finished", s.program.Describe())
}

// Close ends the session after the last turn.
func (s *Session) Close() {
	close(s.done)
	s.in.Close()
	io.Copy(io.Discard, s.out)
	s.program.Wait()
	s.orders.Close()
}

// Stop ends the session at once.
func (s *Session) Stop() { s.program.Stop(time.Second) }
