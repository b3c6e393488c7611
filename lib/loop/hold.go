package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// pollHold is how often a turn looks whether the conversation is free.
const pollHold = 20 * time.Millisecond

// holder is who runs a turn in a conversation.
type holder struct {
	PID   int    `json:"pid"`
	Since string `json:"since"`
}

// hold takes the conversation for one turn: a lock (flock(2)) on a file of its own, which the kernel takes back when a process ends,
// however it ends. Another process's turn is waited for until ctx ends, and told of once. The file is removed by who unlocks it.
func (l *Loop) hold(ctx context.Context) (release func(), waited bool, err error) {
	if l.Turns == "" {
		return func() {}, false, nil
	}
	if err := os.MkdirAll(l.Turns, 0o700); err != nil {
		return nil, false, fmt.Errorf("take the conversation for a turn: %w", err)
	}
	path := filepath.Join(l.Turns, record.HashBytes([]byte(l.ConversationID))[:32])
	told := holder{}
	for {
		f, err := takeFile(path)
		if err != nil {
			return nil, waited, fmt.Errorf("take the conversation for a turn: %w", err)
		}
		if f != nil {
			return func() {
				os.Remove(path)
				f.Close()
			}, waited, nil
		}
		waited = true
		if told == (holder{}) {
			if told = readHolder(path); told != (holder{}) && l.Waiting != nil {
				l.Waiting(l.ConversationID, told.PID, told.Since)
			}
		}
		timer := time.NewTimer(pollHold)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, true, busy(ctx, l.ConversationID, told)
		}
	}
}

func busy(ctx context.Context, conversation string, h holder) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ErrTimeout) {
		return cause
	}
	return envelope.Errorf(envelope.ExitLimit, "conversation.busy", "%w: process %d has been running a turn in %s since %s", errBusy, h.PID, conversation, h.Since).
		WithHint("wait for it, or begin another conversation")
}

// errBusy is the cause of a turn whose time passed while it waited for another one.
var errBusy = errors.New("the conversation is busy")

// takeFile locks the file that has the name, and returns nil if another process holds it.
func takeFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	err = durable.Flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, nil
	}
	if err == nil {
		var same bool
		if same, err = isNamed(f, path); err == nil && !same {
			f.Close() // it was unlocked, and removed, between our opening and locking it
			return nil, nil
		}
	}
	if err == nil {
		err = writeHolder(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func isNamed(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, named), nil
}

func writeHolder(f *os.File) error {
	line, err := record.Encode(holder{PID: os.Getpid(), Since: record.Now()})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(line, '\n'), 0)
	}
	return err
}

func readHolder(path string) (h holder) {
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil || record.DecodeOpen(b, &h) != nil {
		return holder{}
	}
	return h
}
