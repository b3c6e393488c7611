package agent

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"clawsh/lib/command"
)

// orders takes what the program that drives us says, a line each, from a descriptor: "cancel INT|TERM|HUP MESSAGE_ID"
// ends the turn of a message, whether it has begun or not; "leave" ends everything at once; "shown CALL_ID" says that
// people have seen a call. Unlike a signal, an order is never lost, never comes twice, and is about one turn.
func (r *runner) orders(fd int) {
	if fd <= 2 {
		return
	}
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "orders")
	defer r.seen.close()
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "shown":
			r.seen.add(rest)
		case "leave":
			r.mu.Lock()
			r.leave(command.Signal{Signal: os.Interrupt})
			r.mu.Unlock()
		case "cancel":
			name, message, _ := strings.Cut(rest, " ")
			sig := command.Signal{Signal: os.Interrupt}
			switch name {
			case "TERM":
				sig.Signal = syscall.SIGTERM
			case "HUP":
				sig.Signal = syscall.SIGHUP
			}
			r.cancelTurn(message, sig)
		}
	}
}

func (r *runner) cancelTurn(message string, sig command.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loop == nil || r.message == message || sig.Ends() {
		r.end(sig) // nothing but this turn is prepared
		return
	}
	r.early[message] = sig
}

// shown waits until people have seen a call.
func (r *runner) shown(ctx context.Context, callID string) error { return r.seen.wait(ctx, callID) }

// seen are the calls that people have seen.
type seen struct {
	mu    sync.Mutex
	calls map[string]bool
	more  chan struct{} // closed and replaced with each call
	over  bool
}

func newSeen() *seen { return &seen{calls: map[string]bool{}, more: make(chan struct{})} }

func (s *seen) add(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call] = true
	close(s.more)
	s.more = make(chan struct{})
}

// close lets everybody go on: nobody is there to see anything.
func (s *seen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	close(s.more)
	s.more = make(chan struct{})
}

func (s *seen) wait(ctx context.Context, call string) error {
	for {
		s.mu.Lock()
		done, more := s.calls[call] || s.over, s.more
		delete(s.calls, call)
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waiting tells that the turn of another process is waited for.
func waiting(c *command.Call) func(string, int, string) {
	return func(conversation string, pid int, since string) {
		c.Tell("conversation_busy",
			fmt.Sprintf("waiting: another turn of this conversation has been running since %s (process %d)", since,
				pid),
			"conversation_id", conversation, "pid", pid, "since", since)
	}
}

// signature is something that changes whenever the memory does.
func signature(path string) string {
	var b strings.Builder
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%d %d;", info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
