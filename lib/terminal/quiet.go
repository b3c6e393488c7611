package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A pasted text arrives in pieces, over a slow connection with pauses between them. People pause for longer when they
// have typed an answer.
const (
	stillBefore = 300 * time.Millisecond // before a question is shown
	mostBefore  = 5 * time.Second        // of input without such a pause: then there is no question
	stillAfter  = 50 * time.Millisecond  // after an answer that counts
)

// errRestless means that text arrives which is no answer to a question.
var errRestless = errors.New("text keeps arriving on the terminal")

// hush waits until nothing is being typed or pasted, and throws away what was.
func (t *tty) hush(ctx context.Context) error {
	err := t.loose(func() error { return quiet(ctx, t.pending, stillBefore, mostBefore) })
	if err == nil {
		err = flushInput(t.fd)
	}
	if err != nil {
		return fmt.Errorf("wait for a pause before the question: %w", err)
	}
	return nil
}

// alone tells whether nothing follows the line that was just read.
func (t *tty) alone(ctx context.Context) (bool, error) {
	if t.crowded {
		return false, nil
	}
	err := t.loose(func() error { return quiet(ctx, t.pending, stillAfter, 0) })
	if errors.Is(err, errRestless) {
		return false, nil
	}
	return err == nil, err
}

// loose does something while the terminal delivers what is typed at once, and not only whole lines: the beginning of a
// line is input, too. None of it is shown: nobody was asked for it.
func (t *tty) loose(do func() error) error {
	was, err := unix.IoctlGetTermios(t.fd, getTermios)
	if err != nil {
		return fmt.Errorf("%w: %w", errClosed, err)
	}
	now := *was
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(t.fd, setTermios, &now); err != nil {
		return fmt.Errorf("%w: %w", errClosed, err)
	}
	defer unix.IoctlSetTermios(t.fd, setTermios, was)
	return do()
}

// pending reads what has arrived, which may be nothing.
func (t *tty) pending(buf []byte) (int, error) {
	n, err := unix.Read(t.fd, buf)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errClosed, err)
	case n == 0 && !term.IsTerminal(t.fd):
		return 0, errClosed
	}
	return n, nil
}

// quiet reads until nothing has come for the time still. What comes later than the time most is errRestless.
func quiet(ctx context.Context, read func([]byte) (int, error), still, most time.Duration) error {
	buf := make([]byte, 4096)
	began := time.Now()
	last := began
	for {
		n, err := read(buf)
		if err != nil {
			return err
		}
		now := time.Now()
		if n > 0 {
			last = now
		}
		switch {
		case n > 0 && now.Sub(began) >= most:
			return errRestless
		case now.Sub(last) >= still:
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}
