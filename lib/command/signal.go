package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"clawsh/lib/envelope"
)

// Signal is SIGINT, SIGTERM or SIGHUP, as an error with the exit code that shells expect.
type Signal struct{ os.Signal }

// Error says what happened.
func (s Signal) Error() string { return s.cancelled().Message }

// ExitCode is 130 for SIGINT, 143 for SIGTERM and 129 for SIGHUP.
func (s Signal) ExitCode() int { return s.cancelled().Exit }

// ErrorCode is what an envelope says.
func (s Signal) ErrorCode() string { return s.cancelled().Code }

// Ends tells that the signal ends the program, whatever it is doing. SIGINT ends what it is doing.
func (s Signal) Ends() bool { return s.Signal != os.Interrupt }

func (s Signal) cancelled() *envelope.Error {
	sig, _ := s.Signal.(syscall.Signal)
	return envelope.Cancelled(sig)
}

// Interruptible runs what a command with OwnSignals does before it takes its signals itself: the first one cancels the
// context, and is the error then, told like any other.
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
		return got.cancelled()
	}
	return err
}

// catch begins to take signals; those that come before somebody asks for them wait. A signal that the parent told us to
// ignore, as nohup does, stays ignored. SIGPIPE becomes an error of the write, so that a stage whose reader has gone
// still cleans up behind itself.
func catch() <-chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	in := make(chan os.Signal, 4)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(in, s)
		}
	}
	return in
}

// watchSignals cancels the context at the first signal, or delivers them on the channel if own is set. Ctrl-C on a
// terminal, and the end of the terminal, reach every program at once: the one that a person started decides, and those
// that it drives wait for its word.
func watchSignals(ctx context.Context, in <-chan os.Signal, own, driven bool) (context.Context, <-chan Signal) {
	out := make(chan Signal, 4)
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for s := range in {
			if driven && s != syscall.SIGTERM {
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

// signalled is the error of a command whose context a signal has cancelled: whatever failed for that, the signal ended
// it.
func signalled(ctx context.Context, err error) error {
	var sig Signal
	if err != nil && errors.As(context.Cause(ctx), &sig) {
		return sig
	}
	return err
}
