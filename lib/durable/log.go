// Package durable makes files survive: append-only logs that several processes share, and files that are replaced whole.
//
// A Log is appended to under a lock on the file itself (flock), in one write a line, and synced where the caller asks for
// it. What a crash leaves is said where it happens, and who recovers it.
package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

	mu   sync.Mutex
	f    *os.File
	end  int64     // the size after our own last append; guarded by mu
	at   time.Time // the file's time of change then; guarded by mu
	last []byte    // the last line then, without newline; guarded by mu
}

// OpenLog opens the log at path, and creates it with the given mode if it is missing. A symbolic link is refused, and so is
// anything but a regular file.
func OpenLog(path string, mode fs.FileMode) (*Log, error) {
	l := &Log{path: path, mode: mode}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	_, err := os.Lstat(l.path)
	created := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, l.mode)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", l.path)
	}
	if err == nil && created {
		// a crash before this leaves a log without a name: it is empty, nothing is lost
		err = SyncDir(filepath.Dir(l.path))
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("open log: %w", err)
	}
	l.f, l.end, l.last = f, -1, nil
	return nil
}

// Append appends one line, given without its newline, and with sync set returns only when it is durable.
func (l *Log) Append(line []byte, sync bool) error {
	return l.AppendNext(sync, func([]byte, bool) ([]byte, error) { return line, nil })
}

// AppendNext appends the line that next makes of the last complete line (nil if there is none), all under the lock.
// torn tells that the file ends without a newline: a process died in the middle of a write. Those bytes are kept and
// ended with a newline. An error of next is returned as it is, and nothing is written.
func (l *Log) AppendNext(sync bool, next func(last []byte, torn bool) ([]byte, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.lock(); err != nil {
		return err
	}
	defer unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
	size, torn, err := l.tail()
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", l.path, err)
	}
	line, err := next(l.last, torn)
	if err != nil {
		return err
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("append to %s: a line must not hold a newline", l.path)
	}
	return l.write(line, size, torn, sync)
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
		l.f.Close()
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

// tail finds the last complete line, unless we wrote it ourselves, and tells whether the file is torn.
func (l *Log) tail() (size int64, torn bool, err error) {
	info, err := l.f.Stat()
	if err != nil {
		return 0, false, err
	}
	size = info.Size()
	if size == l.end && info.ModTime().Equal(l.at) {
		return size, false, nil
	}
	l.last = nil
	var end []byte
	for from := size; from > 0; {
		step := min(from, 64<<10)
		from -= step
		chunk := make([]byte, step)
		if _, err := l.f.ReadAt(chunk, from); err != nil && err != io.EOF {
			return 0, false, err
		}
		end = append(chunk, end...)
		if lines := bytes.Count(end, []byte("\n")); lines >= 2 || lines == 1 && from == 0 {
			break
		}
	}
	torn = size > 0 && end[len(end)-1] != '\n'
	complete := end[:bytes.LastIndexByte(end, '\n')+1]
	if len(complete) > 0 {
		complete = complete[:len(complete)-1]
		l.last = bytes.Clone(complete[bytes.LastIndexByte(complete, '\n')+1:])
	}
	return size, torn, nil
}

// write appends the line in one write. A crash in it leaves a torn line, which the next append ends with a newline. A full
// disk leaves nothing: what was written of the line is taken back.
func (l *Log) write(line []byte, size int64, torn, sync bool) error {
	out := make([]byte, 0, len(line)+2)
	if torn {
		out = append(out, '\n')
	}
	out = append(append(out, line...), '\n')
	l.end = -1
	if n, err := l.f.Write(out); err != nil {
		if n > 0 {
			l.f.Truncate(size)
		}
		return fmt.Errorf("append to %s: %w", l.path, err)
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

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
