package session

import (
	"os"
	"syscall"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
)

func (s *Session) running(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message, s.told, s.late = message, false, false
}

// whenIdle says what is done with a signal that comes while no turn runs, and with one that has come.
func (s *Session) whenIdle(do func(command.Signal)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle = do; s.ended != nil {
		do(*s.ended)
	}
}

// again makes ready for the next turn: a Ctrl-C was about the last one.
func (s *Session) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil && !s.ended.Ends() {
		s.ended = nil
	}
}

// signalled is the signal that ended the running turn or the session, nil for none.
func (s *Session) signalled() *command.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// signals ends the running turn at the first signal, and everything at a second Ctrl-C if it does not end. Ctrl-C on a
// terminal reaches claw-loop and its stages too, which leave it to us.
func (s *Session) signals(signals <-chan command.Signal) {
	for {
		select {
		case <-s.done:
			return
		case sig := <-signals:
			s.signal(sig)
		}
	}
}

func (s *Session) signal(sig command.Signal) {
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

// patience is how long a cancelled turn may take to end before a second Ctrl-C leaves at once. Until then signals are
// one wish: a terminal, a process group and timeout(1) may all send the same.
const patience = time.Second

func (s *Session) remind(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.message != message {
		return
	}
	s.late = true
	s.tell("turn_ending", "ending the turn; press Ctrl-C again to exit at once")
}

// interrupted is how everything ends that a signal ends.
func interrupted(sig command.Signal) *envelope.Error {
	return &envelope.Error{Code: sig.ErrorCode(), Message: sig.Error(), Exit: sig.ExitCode()}
}
