package command

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
)

type ended int

func (e ended) Error() string { return "ended" }
func (e ended) ExitCode() int { return int(e) }

// The exit code of a program that another one's end is told by is taken over only if it is one: that of a program that
// a signal ended is -1.
func TestExitCodesAreInTheTable(t *testing.T) {
	for err, want := range map[error]int{nil: 0, errors.New("x"): 1, ended(-1): 1, fmt.Errorf("x: %w", ended(-1)): 1,
		ended(78):              78,
		Signal{syscall.SIGINT}: 130, Signal{syscall.SIGTERM}: 143, Signal{syscall.SIGHUP}: 129} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: exit %d, want %d", err, got, want)
		}
	}
}

// What fails once a signal has come failed because of it; what succeeded all the same, succeeded.
func TestASignalEndsWhatItInterrupts(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := signalled(ctx, errors.New("x")); exitCode(err) != 1 {
		t.Error(err)
	}
	cancel(Signal{syscall.SIGHUP})
	if err := signalled(ctx, errors.New("its answer is no envelope")); exitCode(err) != 129 {
		t.Error(err)
	}
	if err := signalled(ctx, nil); err != nil {
		t.Error(err)
	}
}
