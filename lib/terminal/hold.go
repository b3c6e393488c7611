package terminal

import (
	"context"

	"golang.org/x/sys/unix"
)

// Hold waits until no question is open on the controlling terminal, and keeps others from asking until release is
// called, so that lines written there do not interrupt a question. Without a terminal, or when ctx ends, it does not
// wait.
func Hold(ctx context.Context) (release func()) {
	fd, err := unix.Open(ttyPath, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	defer unix.Close(fd)
	t := &tty{fd: fd, lock: -1}
	t.exclude(ctx)
	return func() {
		if t.lock >= 0 {
			unix.Close(t.lock)
		}
	}
}
