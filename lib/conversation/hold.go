package conversation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// pollHold is how often a turn checks whether the conversation is free.
const pollHold = 20 * time.Millisecond

// holder describes the process that has a turn in a conversation.
type holder struct {
	PID   int    `json:"pid"`
	Since string `json:"since"`
}

// ErrBusy means that another process did not release the conversation in time.
var ErrBusy = errors.New("the conversation is busy")

// all is the file of the lock on all conversations, which each turn shares. It is never removed.
const all = ".all"

// imports is the file of the lock between imports, which share it, and commands that delete conversations. It is
// never removed.
const imports = ".imports"

// importer begins the name of the file in which an import identifies itself.
const importer = "import-"

// Turns is the directory of the locks that give a conversation one turn at a time and prevent its deletion meanwhile,
// across processes. They are flock(2) locks on files, which the kernel releases however a process ends.
type Turns struct {
	Dir string
	// Waiting, if not nil, is called once with the process that Hold waits for.
	Waiting func(conversationID string, pid int, since string)
}

// Hold locks a conversation. It waits for another process's lock until ctx ends, which is ErrBusy, conversation.busy.
// It reports whether it has waited, since what was read before may then be outdated.
func (t Turns) Hold(ctx context.Context, conversationID string) (release func(), waited bool, err error) {
	path := filepath.Join(t.Dir, record.HashBytes([]byte(conversationID))[:32])
	shared, waited, err := t.take(ctx, filepath.Join(t.Dir, all), unix.LOCK_SH, conversationID)
	if err != nil {
		return nil, waited, err
	}
	own, more, err := t.take(ctx, path, unix.LOCK_EX, conversationID)
	if err != nil {
		shared.Close()
		return nil, waited || more, err
	}
	return func() {
		os.Remove(path) // by its owner, so that no other one is removed
		own.Close()
		shared.Close()
	}, waited || more, nil
}

// HoldAll locks all conversations, even those that have not begun.
func (t Turns) HoldAll(ctx context.Context) (release func(), err error) {
	f, _, err := t.take(ctx, filepath.Join(t.Dir, all), unix.LOCK_EX, "")
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// HoldImport is for storing conversations of which more is to come: meanwhile none can be deleted. Imports do not
// wait for each other.
func (t Turns) HoldImport(ctx context.Context) (release func(), err error) {
	var held []*os.File
	own := filepath.Join(t.Dir, fmt.Sprint(importer, os.Getpid())) // identifies this process to others
	release = func() {
		os.Remove(own)
		for _, f := range held {
			f.Close()
		}
	}
	for _, lock := range []struct {
		path string
		how  int
	}{{filepath.Join(t.Dir, all), unix.LOCK_SH}, {filepath.Join(t.Dir, imports), unix.LOCK_SH}, {own, unix.LOCK_EX}} {
		f, _, err := t.take(ctx, lock.path, lock.how, "")
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, f)
	}
	return release, nil
}

// HoldImports keeps imports from beginning.
func (t Turns) HoldImports(ctx context.Context) (release func(), err error) {
	f, _, err := t.take(ctx, filepath.Join(t.Dir, imports), unix.LOCK_EX, "")
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// take waits for the lock on the file that has the name.
func (t Turns) take(ctx context.Context, path string, how int, conversationID string) (_ *os.File, waited bool,
	err error) {
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("lock the conversation: %w", err)
	}
	told := holder{}
	for {
		f, err := takeFile(path, how)
		if err != nil {
			return nil, waited, fmt.Errorf("lock the conversation: %w", err)
		}
		if f != nil {
			return f, waited, nil
		}
		waited = true
		if told == (holder{}) {
			if told = t.holder(path, how); told != (holder{}) && t.Waiting != nil {
				t.Waiting(conversationID, told.PID, told.Since)
			}
		}
		timer := time.NewTimer(pollHold)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, true, busy(conversationID, told)
		}
	}
}

// holder returns the process that has the lock on a file; if the lock is shared, any of them.
func (t Turns) holder(path string, how int) holder {
	name := filepath.Base(path)
	if how == unix.LOCK_SH || name != all && name != imports {
		return readHolder(path)
	}
	names, _ := os.ReadDir(t.Dir)
	for _, n := range names {
		if n.Name() == all || n.Name() == imports || name == imports && !strings.HasPrefix(n.Name(), importer) {
			continue
		}
		if h := readHolder(filepath.Join(t.Dir, n.Name())); h != (holder{}) {
			return h
		}
	}
	return readHolder(path)
}

func busy(conversationID string, h holder) error {
	if conversationID == "" {
		conversationID = "a conversation"
	}
	return envelope.Errorf(envelope.ExitLimit, "conversation.busy",
		"%w: process %d has been running a turn of %s since %s", ErrBusy, h.PID, conversationID, h.Since).
		WithHint("wait for it, or start another conversation")
}

// takeFile locks the file that has the name, and returns nil if another process has the lock.
func takeFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	err = durable.Flock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, nil
	}
	if err == nil {
		var same bool
		if same, err = isNamed(f, path); err == nil && !same {
			f.Close() // it was unlocked and removed between our opening and locking it
			return nil, nil
		}
	}
	if err == nil && how == unix.LOCK_EX {
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
