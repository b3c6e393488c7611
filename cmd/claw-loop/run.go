package main

import (
	"context"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

// runner runs one turn after the other and takes the signals.
type runner struct {
	call *command.Call
	loop *loop.Loop
	stop context.CancelCauseFunc
	out  *stage.Writer
	code int

	mu        sync.Mutex
	cancel    context.CancelCauseFunc // of the running turn; guarded by mu
	cancelled bool                    // the running turn was told to end; guarded by mu
	last      time.Time               // of the last signal; guarded by mu
}

// outputGone wraps the failure of our own output: nobody reads the answer any more.
type outputGone struct{ error }

// Unwrap returns the failed write.
func (o *outputGone) Unwrap() error { return o.error }

// emit writes what the turn produces, at once.
func (r *runner) emit(line []byte) error {
	err := r.out.Write(line)
	if err == nil {
		err = r.out.Flush()
	}
	if err != nil {
		return &outputGone{err}
	}
	return nil
}

// handle runs one turn.
func (r *runner) handle(ctx context.Context, line record.Line, out *stage.Writer) error {
	var user record.User
	if err := record.DecodeOpen(line.Bytes(), &user); err != nil {
		return envelope.Errorf(0, "user.invalid", "read user record: %w", err)
	}
	if user.Content == "" {
		return envelope.Errorf(0, "user.empty", "the message is empty")
	}
	r.out = out
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.running(cancel)
	defer r.running(nil)
	final, err := r.loop.Turn(ctx, user)
	if err != nil {
		return stage.Fatal(err)
	}
	r.code = loop.ExitCode(final)
	return nil
}

func (r *runner) running(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel, r.cancelled = cancel, false
}

// sameSignal is the time within which two signals are one: the terminal's, and the same one forwarded by clawsh.
const sameSignal = 40 * time.Millisecond

// signals ends the running turn at the first signal; everything at a second one, at SIGTERM, or if no turn is running.
func (r *runner) signals() {
	for s := range r.call.Signals {
		r.signal(s)
	}
}

func (r *runner) signal(s command.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := time.Since(r.last) < sameSignal
	r.last = time.Now()
	if again {
		return
	}
	if r.cancelled {
		r.loop.Kill()
	}
	if r.cancel != nil {
		r.cancel(s)
	}
	if r.cancel == nil || r.cancelled || s.Signal == syscall.SIGTERM {
		r.stop(s)
	}
	r.cancelled = true
}
