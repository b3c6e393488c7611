package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// interval is how often a waiting question looks for an answer, and whether it was cancelled. Waiting by poll(2) would
// not do: macOS cannot poll /dev/tty.
const interval = 20 * time.Millisecond

// tty is the controlling terminal, opened anew for one question: it may have changed hands since the last. The
// descriptor is its own and does not block, so that no read or write, on a terminal that is stopped or that somebody
// else reads too, can outlive the question.
type tty struct {
	fd    int
	lock  int           // a descriptor of the terminal's own device, -1 for none
	saved *unix.Termios // to be restored, nil for unchanged

	crowded bool // more came with the line that was read last
}

// openTTY opens the terminal and makes ready for a question: no other is being asked, lines are edited and echoed by
// the terminal, and what was typed before is gone.
func openTTY(ctx context.Context) (*tty, error) {
	fd, err := unix.Open(ttyPath, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: open /dev/tty: %w", ErrNoTerminal, err)
	}
	if !term.IsTerminal(fd) {
		unix.Close(fd)
		return nil, ErrNoTerminal
	}
	t := &tty{fd: fd, lock: -1}
	err = t.exclude(ctx)
	if err == nil {
		err = t.cook()
	}
	if err == nil {
		err = flushInput(fd)
	}
	if err != nil {
		t.close()
		return nil, fmt.Errorf("prepare the terminal for a question: %w", err)
	}
	return t, nil
}

// exclude waits until no other question is being asked on this terminal. The lock is on the terminal's own device: all
// terminals of a machine share /dev/tty. One whose device cannot be found or locked is used without.
func (t *tty) exclude(ctx context.Context) error {
	if t.lock, _ = openReal(t.fd); t.lock < 0 {
		return nil
	}
	for {
		err := unix.Flock(t.lock, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// openReal opens the terminal behind a descriptor of /dev/tty by its own name, and returns -1 if it has none here.
func openReal(fd int) (lock int, path string) {
	paths, dev := realPaths(fd)
	for _, p := range paths {
		real, err := unix.Open(p, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(real, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && uint64(st.Rdev) == dev {
			return real, p
		}
		unix.Close(real)
	}
	return -1, ""
}

// cook makes the terminal deliver whole lines and show what is typed, if a program has left it in another mode.
func (t *tty) cook() error {
	was, err := unix.IoctlGetTermios(t.fd, getTermios)
	if err != nil {
		return err
	}
	now := *was
	now.Lflag |= unix.ICANON | unix.ECHO | unix.ECHOE | unix.ISIG
	now.Iflag |= unix.ICRNL
	now.Iflag &^= unix.IGNCR | unix.INLCR
	now.Oflag |= unix.OPOST | unix.ONLCR
	if now == *was {
		return nil
	}
	t.saved = was
	return unix.IoctlSetTermios(t.fd, setTermios, &now)
}

func (t *tty) close() {
	if t.saved != nil {
		unix.IoctlSetTermios(t.fd, setTermios, t.saved)
	}
	if t.lock >= 0 {
		unix.Close(t.lock)
	}
	unix.Close(t.fd)
}

// write shows all of text, unless ctx ends while the terminal is stopped.
func (t *tty) write(ctx context.Context, text string) error {
	for rest := []byte(text); len(rest) > 0; {
		n, err := unix.Write(t.fd, rest)
		rest = rest[max(n, 0):]
		if err := t.again(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// read waits for input; none without an error is the end of input (^D).
func (t *tty) read(ctx context.Context, buf []byte) (int, error) {
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := unix.Read(t.fd, buf)
		if err == nil {
			if n == 0 && !term.IsTerminal(t.fd) {
				return 0, errClosed // after a hangup reads return nothing, and nothing else works
			}
			return n, nil
		}
		if err := t.again(ctx, err); err != nil {
			return 0, err
		}
	}
}

// again returns nil if a call that failed with err is worth another try, after a pause if there is something to wait
// for.
func (t *tty) again(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, unix.EINTR):
		return nil
	case errors.Is(err, unix.EAGAIN):
		return pause(ctx)
	}
	return fmt.Errorf("%w: %w", errClosed, err)
}

func pause(ctx context.Context) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// IsTerminal reports whether the file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Width returns the terminal's width in columns, 80 if it is not known.
func Width(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
