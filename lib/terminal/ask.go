package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// ErrNoTerminal means that there is nobody to ask: the process has no controlling terminal.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// errClosed means that the terminal went away before an answer came.
var errClosed = errors.New("the terminal was closed")

// pollInterval is how often a waiting question looks whether it was cancelled.
const pollInterval = 50 * time.Millisecond

// Confirm asks a yes-or-no question on /dev/tty and returns true for y or yes, in any case, and for nothing else: not for
// an empty line, not for the end of input. The prompt is shown as it is: the caller has escaped what it does not trust. What
// was typed before the question is thrown away. ctx ends the question; its cause is the error then.
func Confirm(ctx context.Context, prompt string) (bool, error) {
	answer, err := ask(ctx, prompt, 64)
	if err != nil {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// AskLine asks for one line of at most maxBytes bytes on /dev/tty and returns it without its newline.
func AskLine(ctx context.Context, prompt string, maxBytes int) (string, error) {
	return ask(ctx, prompt, maxBytes)
}

// ask opens the terminal anew for each question: it may have changed hands. A lock on it keeps two questions apart.
func ask(ctx context.Context, prompt string, maxBytes int) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	defer tty.Close()
	fd := int(tty.Fd())
	if !term.IsTerminal(fd) {
		return "", ErrNoTerminal
	}
	if err := lock(ctx, fd); err != nil {
		return "", err
	}
	defer unix.Flock(fd, unix.LOCK_UN)
	if err := flushInput(fd); err != nil {
		return "", fmt.Errorf("throw typed-ahead input away: %w", err)
	}
	if _, err := tty.WriteString(prompt); err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	line, err := readLine(ctx, fd, maxBytes)
	if err != nil {
		tty.WriteString("\n")
	}
	return line, err
}

// lock waits until no other question is being asked on this terminal. A terminal that cannot be locked is used without.
func lock(ctx context.Context, fd int) error {
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// readLine reads one line, looking up now and then whether it is still wanted: no reader stays behind that would take the
// next line from somebody else.
func readLine(ctx context.Context, fd, maxBytes int) (string, error) {
	var line []byte
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(pollInterval/time.Millisecond))
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && n == 0:
			continue
		case err != nil:
			return "", fmt.Errorf("wait for an answer: %w", err)
		case fds[0].Revents&unix.POLLIN == 0:
			return "", errClosed
		}
		var buf [512]byte
		n, err = unix.Read(fd, buf[:])
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", errClosed, err)
		}
		line = append(line, buf[:n]...)
		if text, _, ended := strings.Cut(string(line), "\n"); ended || n == 0 {
			return text, tooLong(len(text), maxBytes)
		}
		if err := tooLong(len(line), maxBytes); err != nil {
			return "", err
		}
	}
}

func tooLong(n, most int) error {
	if n > most {
		return fmt.Errorf("the answer is longer than %d bytes", most)
	}
	return nil
}

// IsTerminal tells whether the file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Width returns the terminal's width in columns, 80 if it is not known.
func Width(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}
