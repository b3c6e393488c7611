package main

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
	"clawsh/lib/loop"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// session is a running claw-loop.
type session struct {
	call    *command.Call
	channel Channel
	stage   *process.Stage
	lines   *record.LineReader // of its output
	orders  *os.File           // what claw-loop is told beside its input
	idle    func(command.Signal)
	done    chan struct{}

	unread bool // the reader of our output has gone

	mu      sync.Mutex
	message string          // the one that is being answered; guarded by mu
	told    bool            // to end its turn; guarded by mu
	late    bool            // it has not ended for a while, and the user knows; guarded by mu
	ended   *command.Signal // the last signal; guarded by mu
}

// startSession starts claw-loop. It gets the provider keys to pass them on to claw-llm.
func startSession(ctx context.Context, c *command.Call, cfg *config.Config, ch Channel, args []string) (*session, error) {
	siblings := loop.NewSiblings(cfg, c.Environ, os.Stderr)
	spec, err := siblings.WithSecrets("claw-loop", append(args, "--control=3")...)
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
	s := &session{call: c, channel: ch, stage: st, orders: orders, lines: record.NewLineReader(st.Stdout), done: make(chan struct{})}
	go s.signals()
	return s, nil
}

// order tells claw-loop something at once. One that is gone needs no orders.
func (s *session) order(format string, args ...any) { fmt.Fprintf(s.orders, format+"\n", args...) }

// turn sends one message, shows what happens, and returns the final record.
func (s *session) turn(message string, metadata record.Raw) (record.Final, error) {
	id := record.NewID("msg-")
	line, err := record.Encode(record.User{V: record.Version, Kind: record.KindUser, ID: id, Content: message, Metadata: metadata})
	if err != nil {
		return record.Final{}, err
	}
	s.running(id)
	defer s.running("")
	if sig := s.signalled(); sig != nil {
		s.order("leave")
		return record.Final{}, interrupted(*sig)
	}
	if _, err := s.stage.Stdin.Write(append(line, '\n')); err != nil {
		return record.Final{}, s.gone()
	}
	for {
		raw, err := s.lines.Whole()
		if err != nil {
			return record.Final{}, s.gone()
		}
		final, err := s.show(raw)
		if errors.Is(err, syscall.EPIPE) { // nobody reads the answer any more: the turn ends, and what was done is kept
			s.unread = true
			s.order("cancel INT %s", id)
			err = nil
		}
		if final != nil || err != nil {
			return *cmpOr(final), err
		}
	}
}

func cmpOr(f *record.Final) *record.Final {
	if f == nil {
		return &record.Final{}
	}
	return f
}

// show passes one record to the channel; a final ends the turn.
func (s *session) show(raw []byte) (*record.Final, error) {
	line, err := record.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read what claw-loop says: %w", err)
	}
	switch line.Kind() {
	case record.KindFinal:
		var f record.Final
		if err := record.DecodeOpen(raw, &f); err != nil {
			return nil, fmt.Errorf("read the final record: %w", err)
		}
		err := s.channel.Send(f.ConversationID, raw)
		if s.unread = s.unread || errors.Is(err, syscall.EPIPE); s.unread {
			err = nil
		}
		return &f, err
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

// gone says how claw-loop ended when it should not have. Its own message, if it had one, is on standard error already.
func (s *session) gone() error {
	s.stage.Stdin.Close()
	err := s.stage.Wait()
	if sig := s.signalled(); sig != nil {
		return interrupted(*sig)
	}
	if sig := s.stage.Terminated(); sig != 0 {
		return envelope.Cancelled(sig)
	}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return command.Exit(exit.ExitCode())
	}
	return envelope.Errorf(envelope.ExitError, "stage.died", "%s, in the middle of a turn", s.stage.Describe())
}

// close ends the session after the last turn.
func (s *session) close() error {
	close(s.done)
	s.stage.Stdin.Close()
	io.Copy(io.Discard, s.stage.Stdout)
	s.stage.Wait()
	s.orders.Close()
	return nil
}

// stop ends the session at once.
func (s *session) stop() { s.stage.Stop(time.Second) }

func (s *session) running(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message, s.told, s.late = message, false, false
}

// whenIdle says what is done with a signal that comes while no turn runs.
func (s *session) whenIdle(do func(command.Signal)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = do
}

// again makes ready for the next turn: a Ctrl-C was about the last one.
func (s *session) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil && !s.ended.Ends() {
		s.ended = nil
	}
}

// signalled is the signal that ended the running turn or the session, nil for none.
func (s *session) signalled() *command.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// signals ends the running turn at the first signal, and everything at a second Ctrl-C if it does not end. Ctrl-C on a terminal reaches claw-loop and its
// stages too, which leave it to us.
func (s *session) signals() {
	for {
		select {
		case <-s.done:
			return
		case sig := <-s.call.Signals:
			s.signal(sig)
		}
	}
}

func (s *session) signal(sig command.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = &sig
	name := map[os.Signal]string{os.Interrupt: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}[sig.Signal]
	switch {
	case s.message == "":
		if s.idle != nil {
			s.idle(sig)
		}
	case !s.told:
		s.told = true
		s.order("cancel %s %s", name, s.message)
		message := s.message
		time.AfterFunc(patience, func() { s.remind(message) })
	case name == "INT" && s.late:
		s.order("leave")
	}
}

// patience is how long a cancelled turn may take to end before a second Ctrl-C leaves at once. Until then signals are one wish: a terminal,
// a process group and timeout(1) may all send the same.
const patience = time.Second

func (s *session) remind(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.message != message {
		return
	}
	s.late = true
	s.call.Tell("turn_ending", "ending the turn; press Ctrl-C again to exit at once")
}

// interrupted is how everything ends that a signal ends.
func interrupted(sig command.Signal) *envelope.Error {
	return &envelope.Error{Code: sig.ErrorCode(), Message: sig.Error(), Exit: sig.ExitCode()}
}
