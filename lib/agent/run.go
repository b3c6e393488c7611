package agent

import (
	"context"
	"sync"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

// runner runs one turn after the other, and ends them when it is told to.
type runner struct {
	call *command.Call
	stop context.CancelCauseFunc
	out  *stage.Writer
	code int
	seen *seen

	options *Options
	config  *config.Config // that the loop was made of
	denied  bool           // a stage found it changed in the last turn

	mu        sync.Mutex
	loop      *loop.Loop                // nil while it is prepared; guarded by mu
	message   string                    // the one that is being answered; guarded by mu
	cancel    context.CancelCauseFunc   // of the running turn; guarded by mu
	since     time.Time                 // when it was told to end; guarded by mu
	cancelled bool                      // the running turn was told to end; guarded by mu
	early     map[string]command.Signal // messages whose turns are to end before they begin; guarded by mu
}

func newRunner(c *command.Call, stop context.CancelCauseFunc) *runner {
	return &runner{call: c, stop: stop, seen: newSeen(), early: map[string]command.Signal{}}
}

// ready takes the loop that turns are run with.
func (r *runner) ready(l *loop.Loop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop = l
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
	r.running(user.ID, cancel)
	defer r.running("", nil)
	final, err := r.turn(ctx, user)
	if err != nil {
		return stage.Fatal(err)
	}
	r.denied = r.denied || outdated(final)
	r.code = loop.ExitCode(final)
	return nil
}

func (r *runner) turn(ctx context.Context, user record.User) (record.Final, error) {
	if err := r.renew(ctx); err != nil {
		return r.loop.Refuse(ctx, user, err)
	}
	return r.loop.Turn(ctx, user)
}

func (r *runner) running(message string, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.message, r.cancel, r.cancelled = message, cancel, false
	if sig, told := r.early[message]; told && cancel != nil {
		r.end(sig)
	}
}

// patience is how long a cancelled turn may take to end before another SIGINT ends everything.
const patience = time.Second

// signals ends the running turn at the first SIGINT and everything at a later one, or if no turn is running. SIGTERM
// and SIGHUP end the turn and then the program, however often it comes: a whole process group may be sent it, and
// whoever drives us passes it on.
func (r *runner) signals() {
	for s := range r.call.Signals {
		r.mu.Lock()
		if r.cancelled && !s.Ends() {
			if time.Since(r.since) > patience {
				r.leave(s)
			}
		} else {
			r.end(s)
		}
		r.mu.Unlock()
	}
}

// end ends the running turn, and the program if there is none. The caller holds mu.
func (r *runner) end(s command.Signal) {
	if r.cancel != nil && !r.cancelled {
		r.cancelled, r.since = true, time.Now()
		r.cancel(s)
	}
	if r.cancel == nil || s.Ends() {
		r.stop(s)
	}
}

// leave ends everything at once. The caller holds mu.
func (r *runner) leave(s command.Signal) {
	if r.loop != nil {
		r.loop.Kill()
	}
	r.stop(s)
}
