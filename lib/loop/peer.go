package loop

import (
	"context"
	"io"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/envelope"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
)

// Grace periods when stages are ended: first they may finish, then they are told to end, then they are killed.
const (
	stopGrace   = 2 * time.Second
	cancelGrace = 5 * time.Second
)

// peer is a conversation with one stage, or with a chain of stages joined by kernel pipes: lines in at the first,
// lines out of the last. A reader of its own always drains the output, so that no stage can block because of us.
type peer struct {
	name   string
	stages []*process.Stage
	in     io.WriteCloser
	lines  chan record.Line
	died   chan struct{} // closed when a stage has ended although its input was open
	closed chan struct{}
	once   sync.Once
}

// start starts the named stages, joined in that order.
func start(ctx context.Context, name string, specs ...process.Spec) (*peer, error) {
	p := &peer{name: name, lines: make(chan record.Line, 256), died: make(chan struct{}), closed: make(chan struct{})}
	var err error
	if p.stages, err = sibling.Chain(ctx, specs...); err != nil {
		return nil, err
	}
	p.in = p.stages[0].Stdin
	go p.read(p.stages[len(p.stages)-1].Stdout)
	p.watch()
	return p, nil
}

// watch notices when a stage ends while it may still have work to do.
func (p *peer) watch() {
	var first sync.Once
	for _, s := range p.stages {
		go func() {
			<-s.Exited()
			select {
			case <-p.closed:
			default:
				first.Do(func() { close(p.died) })
			}
		}()
	}
}

// read delivers the output line by line until it ends. A line that is not a record would be our own defect: it ends
// the conversation, and the turn with an error.
func (p *peer) read(out io.Reader) {
	defer close(p.lines)
	lines := record.NewLineReader(out)
	for {
		raw, err := lines.Whole()
		if err != nil {
			return
		}
		line, err := record.Parse(raw)
		if err != nil {
			return
		}
		p.lines <- line
	}
}

// send writes one record to the first stage.
func (p *peer) send(line []byte) error {
	if _, err := p.in.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		return p.gone(err)
	}
	return nil
}

// closeInput tells the stages that there is no more input.
func (p *peer) closeInput() {
	p.once.Do(func() {
		close(p.closed)
		p.in.Close()
	})
}

// gone describes why the conversation ended: which stage ended, and how. A signal that ended a stage ends the turn as
// if we had received it.
func (p *peer) gone(err error) error {
	gone := p.describe(err)
	for _, s := range p.stages {
		if sig := s.Terminated(); sig != 0 {
			return envelope.Cancelled(sig)
		}
	}
	return gone
}

func (p *peer) describe(err error) error {
	if who := p.culprit(); who != "" {
		return &StageError{Stage: who, Err: err}
	}
	p.closeInput()
	deadline := time.After(stopGrace)
	for _, s := range p.stages {
		select {
		case <-s.Exited():
		case <-deadline:
		}
	}
	who := p.culprit()
	if who == "" {
		who = p.name + ": ended its output"
	}
	return &StageError{Stage: who, Err: err}
}

// culprit returns the stage that was killed, otherwise one that failed, if there is one yet.
func (p *peer) culprit() string {
	for _, ending := range []process.Ending{process.Signalled, process.Failed} {
		for _, stage := range p.stages {
			if stage.Ending() == ending {
				return stage.Describe()
			}
		}
	}
	return ""
}

// cancel ends what is in flight: the stages report it and end. The caller continues reading until then.
func (p *peer) cancel() {
	p.closeInput()
	for _, s := range p.stages[:max(1, len(p.stages)-1)] {
		s.Signal(syscall.SIGTERM)
	}
}

// stop ends the conversation after all input has been handled, and reports whether all stages ended without being
// killed.
func (p *peer) stop() (whole bool) {
	p.closeInput()
	for range p.lines {
	}
	whole = true
	for _, s := range p.stages {
		s.Stop(stopGrace)
		whole = whole && !s.Killed()
	}
	return whole
}

// kill ends the stages at once.
func (p *peer) kill() {
	for _, s := range p.stages {
		s.Signal(syscall.SIGKILL)
	}
}

// StageError reports that a stage ended when it should not have.
type StageError struct {
	Stage string
	Err   error
}

// Error names the stage and how it ended.
func (e *StageError) Error() string { return e.Stage + "; the turn could not be finished" }

// Unwrap returns the first cause.
func (e *StageError) Unwrap() error { return e.Err }
