// Package durable makes files survive: append-only logs that several processes share, and files that are replaced whole.
//
// An append to a Log is this sequence of system calls; what a crash behind each of them leaves, and who recovers it:
//
//	flock(LOCK_EX)      nothing: the kernel takes the lock back when a process ends, however it ends
//	fstat, pread        nothing: the end of the file is only read
//	write(line "\n")    nothing, all of it, or the first part: a torn line. The next append, by any process, ends it with
//	                    a newline of its own, so that both lines stay to be read: the torn one is for the reader to judge
//	fdatasync           the line, whole: it is durable. Before that a power cut may take it, and a reader may have seen it
//	flock(LOCK_UN)      as above
//
// A write that fails (disk full, quota, file too large) is taken back with ftruncate under the same lock; if that fails
// too, a torn line stays, as after a crash. When fdatasync fails the line stays, but is not promised.
//
// The lock is flock(2) on the log itself, so that no second file can be missing or stale; it is advisory, and holds between
// processes of one machine.
package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Log is an append-only file of lines, shared between processes. It is safe for concurrent use.
type Log struct {
	path string
	mode fs.FileMode

	mu    sync.Mutex
	f     *os.File
	end   int64     // the size after our own last append, -1 for none; guarded by mu
	at    time.Time // the file's time of change then; guarded by mu
	last  []byte    // the last line then, without newline; guarded by mu
	write func(f *os.File, b []byte) (int, error)
}

// OpenLog opens the log at path, and creates it with the given mode if it is missing. A symbolic link is refused, and so is
// anything but a regular file.
func OpenLog(path string, mode fs.FileMode) (*Log, error) {
	l := &Log{path: path, mode: mode, write: (*os.File).Write}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the file that has the name now, in place of the one that had it.
func (l *Log) open() error {
	// O_NONBLOCK: a FIFO of that name must not hang us before it is refused
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, l.mode)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", l.path)
	}
	if err == nil && info.Size() == 0 {
		// Whoever finds the log empty makes its name durable: the process that created it may not have come so far, and
		// a line must not be promised in a file whose name a power cut can take.
		err = SyncDir(filepath.Dir(l.path))
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("open log: %w", err)
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.end, l.last = f, -1, nil
	return nil
}

// Append appends one line, given without its newline, and with sync set returns only when it is durable. On an error the
// line is not in the log, unless the message says that syncing it failed. A line that holds a newline is refused.
func (l *Log) Append(line []byte, sync bool) error {
	return l.append(sync, func(int64, bool) ([]byte, error) { return line, nil })
}

// AppendNext appends the line that next makes of the last complete line (nil if there is none), all under the lock, so that
// lines can be numbered or chained. torn tells that the file ends without a newline: a process died in the middle of a
// write. Those bytes are kept and ended with a newline. next must not keep or change last. An error of next is returned as
// it is, and nothing is written.
func (l *Log) AppendNext(sync bool, next func(last []byte, torn bool) ([]byte, error)) error {
	return l.append(sync, func(size int64, torn bool) ([]byte, error) {
		if l.last == nil {
			var err error
			if l.last, err = lastLine(l.f, size); err != nil {
				return nil, fmt.Errorf("read the last line of %s: %w", l.path, err)
			}
		}
		return next(l.last, torn)
	})
}

func (l *Log) append(sync bool, compose func(size int64, torn bool) ([]byte, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.lock(); err != nil {
		return err
	}
	defer unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
	size, torn, err := l.look()
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", l.path, err)
	}
	line, err := compose(size, torn)
	if err != nil {
		return err
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("append to %s: a line must not hold a newline", l.path)
	}
	return l.put(line, size, torn, sync)
}

// lock takes the lock, on the file that has the name: another process may have moved it away while we waited.
func (l *Log) lock() error {
	for range 10 {
		if err := flock(l.f); err != nil {
			return fmt.Errorf("lock %s: %w", l.path, err)
		}
		named, err := os.Lstat(l.path)
		ours, oursErr := l.f.Stat()
		if err == nil && oursErr == nil && os.SameFile(named, ours) {
			return nil
		}
		unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
		if err := l.open(); err != nil {
			return err
		}
	}
	return fmt.Errorf("lock %s: the file is replaced again and again", l.path)
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// look tells the size of the file and whether it ends in the middle of a line. It forgets the last line unless nobody but
// us has appended since.
func (l *Log) look() (size int64, torn bool, err error) {
	info, err := l.f.Stat()
	if err != nil {
		return 0, false, err
	}
	size = info.Size()
	if size == l.end && info.ModTime().Equal(l.at) {
		return size, false, nil
	}
	l.end, l.last = -1, nil
	if size == 0 {
		return 0, false, nil
	}
	var b [1]byte
	if _, err := l.f.ReadAt(b[:], size-1); err != nil {
		return 0, false, err
	}
	return size, b[0] != '\n', nil
}

// put writes the line, behind a newline if what is there is torn.
func (l *Log) put(line []byte, size int64, torn, sync bool) error {
	out := make([]byte, 0, len(line)+2)
	if torn {
		out = append(out, '\n')
	}
	out = append(append(out, line...), '\n')
	l.end, l.last = -1, nil
	if n, err := l.write(l.f, out); err != nil {
		err = fmt.Errorf("append a line of %d bytes to %s: %w", len(line), l.path, err)
		if n > 0 {
			if back := l.f.Truncate(size); back != nil {
				return fmt.Errorf("%w; %d bytes of it stay: %w", err, n, back)
			}
		}
		return err
	}
	if sync {
		if err := syncData(l.f); err != nil {
			return fmt.Errorf("sync %s: %w", l.path, err)
		}
	}
	if info, err := l.f.Stat(); err == nil {
		l.end, l.at, l.last = size+int64(len(out)), info.ModTime(), bytes.Clone(line)
	}
	return nil
}

// Close closes the file. Appends after that are errors.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
