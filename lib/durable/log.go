// Package durable makes files survive crashes: append-only logs that several processes share, and files that are
// replaced atomically.
//
// An append to a Log is this sequence of system calls. Each line says what a crash after the call leaves, and who
// recovers it:
//
//	flock(LOCK_EX)      nothing: the kernel takes the lock back when a process ends, however it ends
//	lstat, pread        nothing: the end of the file is only read
//	write(line "\n")    nothing, all of it, or the first part: a torn line. The next append, by any process, ends it
//	                    with a newline of its own, so that both lines can be read: the reader judges the torn one
//	flock(LOCK_UN)      as above
//	fdatasync           the line, whole: it is durable. Before that a power cut may take it, though a reader has seen
//	                    it. It makes every line before it durable, too, so that chained lines survive in order
//
// A write that fails (disk full, quota, file too large) is undone with ftruncate under the same lock; if that fails
// too, a torn line remains, as after a crash. If fdatasync fails, the line remains, but may not be durable.
//
// The lock is flock(2) on the log itself, so that no second file can be missing or stale; it is advisory, and works
// between processes of one machine.
package durable

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/spelling"
)

// Log is an append-only file of lines, shared between processes. It is safe for concurrent use.
type Log struct {
	path string
	mode fs.FileMode

	mu    sync.Mutex
	f     *os.File
	file  fs.FileInfo // of f when it was opened, to recognise the file; guarded by mu
	end   int64       // the size after our own last append, -1 for none; guarded by mu
	at    time.Time   // the file's time of change then; guarded by mu
	last  []byte      // the last line then, without newline; guarded by mu
	write func(f *os.File, b []byte) (int, error)
}

// OpenLog opens the log at path, and creates it with the given mode if it is missing. Anything but a regular file is
// an error, symbolic links included.
func OpenLog(path string, mode fs.FileMode) (*Log, error) {
	l := &Log{path: path, mode: mode, write: (*os.File).Write}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the file that has the name now, in place of an earlier one.
func (l *Log) open() error {
	// O_NONBLOCK: a FIFO of that name must not block before it is rejected
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, l.mode)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", l.path)
	}
	if err == nil && info.Size() == 0 {
		// A process that finds the log empty makes its name durable: its creator may not have done so yet, and a line
		// is not durable while a power cut can remove the file's name.
		err = SyncDir(filepath.Dir(l.path))
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("open log: %w", err)
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.file, l.end, l.last = f, info, -1, nil
	return nil
}

// Append appends one line, given without its newline, and with sync set returns only when it is durable. On an error
// the line is not in the log, unless the message says that syncing it failed. A line with a newline in it is an
// error.
func (l *Log) Append(line []byte, sync bool) error {
	return l.AppendNext(sync, func(*End) ([]byte, error) { return line, nil })
}

// AppendNext calls next with the end of the log and appends the line that it returns, all under the lock, so that
// lines can be numbered or chained. If next fails, AppendNext returns its error and writes nothing. With sync set it
// returns only when the line is durable; it waits for that without the lock, so that several processes can wait for
// the disk at the same time.
func (l *Log) AppendNext(sync bool, next func(e *End) ([]byte, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.locked(func(e *End) error {
		line, err := next(e)
		if err != nil {
			return err
		}
		if bytes.IndexByte(line, '\n') >= 0 {
			return fmt.Errorf("append to %s: a line must not hold a newline", l.path)
		}
		return l.put(line, e)
	})
	if err != nil || !sync {
		return err
	}
	if err := syncData(l.f); err != nil {
		return fmt.Errorf("sync %s: %w", l.path, err)
	}
	return nil
}

// Locked calls f under the log's lock, with the end of the log.
func (l *Log) Locked(f func(e *End) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked(f)
}

// End is the end of a log, for a process that has its lock.
type End struct {
	Torn bool  // the file ends without a newline: a process died in the middle of a write
	Ours bool  // nobody else has appended since the last append by this Log
	Size int64 // of the file, in bytes

	log *Log
}

// ReadAt reads bytes of the log (io.ReaderAt).
func (e *End) ReadAt(p []byte, off int64) (int, error) { return e.log.f.ReadAt(p, off) }

// Cut truncates the log to that many bytes.
func (e *End) Cut(size int64) error {
	l := e.log
	l.end, l.last = -1, nil
	if err := l.f.Truncate(size); err != nil {
		return fmt.Errorf("cut %s to %s: %w", l.path, spelling.Count(size, "byte"), err)
	}
	e.Size, e.Torn, e.Ours = size, false, false
	return nil
}

// Last returns the last complete line without its newline, or nil. The caller must not keep or change it.
func (e *End) Last() ([]byte, error) {
	l := e.log
	if l.last == nil {
		var err error
		if l.last, err = lastLine(l.f, e.Size); err != nil {
			return nil, fmt.Errorf("read the last line of %s: %w", l.path, err)
		}
	}
	return l.last, nil
}

// locked calls f under the lock of the file; the caller has mu.
func (l *Log) locked(f func(e *End) error) error {
	info, err := l.lock()
	if err != nil {
		return err
	}
	defer unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
	e, err := l.look(info)
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", l.path, err)
	}
	return f(e)
}

// lock locks the file that has the name, and returns its description: another process may have moved the file away
// during the wait.
func (l *Log) lock() (fs.FileInfo, error) {
	for range 10 {
		if err := Flock(l.f, unix.LOCK_EX); err != nil {
			return nil, fmt.Errorf("lock %s: %w", l.path, err)
		}
		if named, err := os.Lstat(l.path); err == nil && os.SameFile(named, l.file) {
			return named, nil
		}
		unix.Flock(int(l.f.Fd()), unix.LOCK_UN)
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lock %s: the file keeps being replaced", l.path)
}

// look finds the end of the file. It forgets the last line unless nobody but us has appended since.
func (l *Log) look(info fs.FileInfo) (*End, error) {
	e := &End{Size: info.Size(), log: l}
	if e.Size == l.end && info.ModTime().Equal(l.at) {
		e.Ours = true
		return e, nil
	}
	l.end, l.last = -1, nil
	if e.Size == 0 {
		return e, nil
	}
	var b [1]byte
	if _, err := l.f.ReadAt(b[:], e.Size-1); err != nil {
		return nil, err
	}
	e.Torn = b[0] != '\n'
	return e, nil
}

// put writes the line, after a newline if the last line is torn.
func (l *Log) put(line []byte, e *End) error {
	out := make([]byte, 0, len(line)+2)
	if e.Torn {
		out = append(out, '\n')
	}
	out = append(append(out, line...), '\n')
	l.end, l.last = -1, nil
	if n, err := l.write(l.f, out); err != nil {
		err = fmt.Errorf("append a line of %s to %s: %w", spelling.Count(len(line), "byte"), l.path, err)
		if n > 0 {
			if back := l.f.Truncate(e.Size); back != nil {
				return fmt.Errorf("%w; it leaves %s: %w", err, spelling.Count(n, "byte"), back)
			}
		}
		return err
	}
	if info, err := l.f.Stat(); err == nil {
		l.end, l.at, l.last = e.Size+int64(len(out)), info.ModTime(), bytes.Clone(line)
	}
	return nil
}

// Close closes the file. Appends after that are errors.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
