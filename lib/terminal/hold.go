package terminal

import (
	"context"

	"golang.org/x/sys/unix"
)

// Hold waits until no question is open on the controlling terminal, and keeps others from asking until release is called: for whoever
// writes lines there that must not come into the middle of a question. Without a terminal, or when ctx ends, it waits for nothing.
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
