package loop

import (
	"context"
	"fmt"
	"sync"

	"clawsh/lib/record"
)

// store is the conversation with claw-mem: records are sent as they come, and acknowledged by being passed on once they
// are durable.
type store struct {
	*peer
	mu     sync.Mutex
	failed []string
	sent   int
	acked  chan struct{}
	done   int
}

func newStore(p *peer) *store {
	s := &store{peer: p, acked: make(chan struct{}, 1)}
	go s.collect()
	return s
}

// collect counts acknowledgements and keeps what claw-mem could not store.
func (s *store) collect() {
	for line := range s.lines {
		s.mu.Lock()
		s.done++
		if line.Kind() == record.KindError {
			s.failed = append(s.failed, line.Text("message"))
		}
		s.mu.Unlock()
		s.notify()
	}
	s.mu.Lock()
	s.done = -1
	s.mu.Unlock()
	s.notify()
}

func (s *store) notify() {
	select {
	case s.acked <- struct{}{}:
	default:
	}
}

// put sends one record to be stored.
func (s *store) put(line []byte) error {
	s.sent++
	return s.send(line)
}

// sync waits until everything that was sent is durable.
func (s *store) sync(ctx context.Context) error {
	for {
		s.mu.Lock()
		done, failed := s.done, s.failed
		s.mu.Unlock()
		switch {
		case len(failed) > 0:
			return fmt.Errorf("claw-mem: %s", failed[0])
		case done < 0:
			return s.gone(fmt.Errorf("claw-mem ended"))
		case done >= s.sent:
			return nil
		}
		select {
		case <-s.acked:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// broken reports whether the store cannot be used for another turn.
func (s *store) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done < 0 || len(s.failed) > 0
}

// stop ends the conversation; collect drains it.
func (s *store) stop() {
	s.closeInput()
	for _, st := range s.stages {
		st.Stop(stopGrace)
	}
}
