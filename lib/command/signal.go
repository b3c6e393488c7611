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

// watchSignals cancels the context at the first SIGINT or SIGTERM, or delivers them on the channel if own is set. A
// signal that the parent told us to ignore, as nohup does, stays ignored. SIGPIPE becomes an error of the write, so
// that a stage whose reader has gone still cleans up behind itself.
func watchSignals(ctx context.Context, own bool) (context.Context, <-chan Signal) {
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
			if own {
				out <- Signal{s}
				continue
			}
			cancel(Signal{s})
		}
	}()
	return ctx, out
}
