package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"clawsh/lib/envelope"
)

// Signal is SIGINT or SIGTERM, as an error with the exit code that shells expect.
type Signal struct{ os.Signal }

// Error says what happened.
func (s Signal) Error() string {
	if s.Signal == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

// ExitCode is 130 for SIGINT and 143 for SIGTERM.
func (s Signal) ExitCode() int {
	if s.Signal == syscall.SIGTERM {
		return envelope.ExitTerminated
	}
	return envelope.ExitInterrupted
}

// Interruptible runs what a command with OwnSignals does before it takes its signals itself: the first one cancels the context, and is
// the error then, told like any other.
func (c *Call) Interruptible(ctx context.Context, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done, watched := make(chan struct{}), make(chan struct{})
	var got *Signal
	go func() {
		defer close(watched)
		select {
		case s := <-c.Signals:
			got = &s
			cancel(s)
		case <-done:
		}
	}()
	err := run(ctx)
	close(done)
	<-watched
	cancel(nil)
	if got != nil {
		return &envelope.Error{Code: "cancelled", Message: got.Error(), Exit: got.ExitCode()}
	}
	return err
}

// watchSignals cancels the context at the first SIGINT or SIGTERM, or delivers them on the channel if own is set. A
// signal that the parent told us to ignore, as nohup does, stays ignored. SIGPIPE becomes an error of the write, so
// that a stage whose reader has gone still cleans up behind itself. Ctrl-C on a terminal reaches every program at once: the one that a
// person started decides, and those that it drives wait for its word.
func watchSignals(ctx context.Context, own, driven bool) (context.Context, <-chan Signal) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	in := make(chan os.Signal, 4)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(in, s)
		}
	}
	out := make(chan Signal, 4)
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for s := range in {
			if driven && s == os.Interrupt {
				continue
			}
			if own {
				out <- Signal{s}
				continue
			}
			cancel(Signal{s})
		}
	}()
	return ctx, out
}
