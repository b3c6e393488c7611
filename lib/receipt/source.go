package receipt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/durable"
)

// Source is a log as it is at one moment, with its older parts, as one stream of lines. It does not hold up those who
// append: the part that is still written to is locked for each read only, and found again if it is rotated away
// meanwhile.
type Source struct {
	log    string
	held   bool // the caller holds the lock
	head   []byte
	parts  int   // that are complete
	at     int   // the part that is being read; parts: the log itself
	offset int64 // in the part
	limit  int64 // of the log itself
	f      *os.File
	active *os.File
}

// Open opens the log at path with its older parts. A log that is not there has no receipts.
func Open(path string) (*Source, error) { return open(path, true) }

func partPath(log string, n int) string {
	return filepath.Join(sideDir(log), fmt.Sprintf("%06d.log", n+1))
}

// open is Open; without lock the caller holds it.
func open(path string, lock bool) (*Source, error) {
	s := &Source{log: path, held: !lock}
	f, err := openPart(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if s.active = f; f == nil {
		lock = false
	}
	if lock {
		if err := durable.Flock(f, unix.LOCK_SH); err != nil {
			f.Close()
			return nil, err
		}
		defer durable.Flock(f, unix.LOCK_UN)
	}
	if err := s.look(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openPart opens a part for reading; a link is refused, and so is anything but a regular file.
func openPart(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("read the receipts: %s is not a regular file", path)
	}
	return f, nil
}

// look takes down what there is at this moment.
func (s *Source) look() (err error) {
	if s.parts, err = countParts(s.log); err != nil {
		return err
	}
	if s.head, err = readHead(s.log); err != nil || s.active == nil {
		return err
	}
	info, err := s.active.Stat()
	if err != nil {
		return err
	}
	s.limit = info.Size()
	if s.parts > 0 {
		same, err := s.rotated()
		if err != nil {
			return err
		}
		if same {
			s.limit = 0
		}
	}
	return nil
}

// countParts is how many complete parts there are. One that is missing in between shows as a broken chain.
func countParts(log string) (int, error) {
	n := 0
	for {
		if _, err := os.Lstat(partPath(log, n)); errors.Is(err, fs.ErrNotExist) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}

// rotated tells whether a process died in the middle of a rotation: the log is the same as the last part.
func (s *Source) rotated() (bool, error) {
	return sameFile(partPath(s.log, s.parts-1), s.active, s.limit)
}

// sameFile tells whether a file is the same as the first size bytes of another, as a rotation makes it: with a newline
// at the end, if the other lacks it. All of it is compared: what differs is not to be passed over, nor cut.
func sameFile(path string, active io.ReaderAt, size int64) (bool, error) {
	f, err := openPart(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if more := info.Size() - size; size == 0 || more != 0 && more != 1 {
		return false, nil
	}
	whole := io.Reader(io.NewSectionReader(active, 0, size))
	if info.Size() > size {
		whole = io.MultiReader(whole, strings.NewReader("\n"))
	}
	return sameBytes(f, whole)
}

// sameBytes compares two streams of the same length.
func sameBytes(a, b io.Reader) (bool, error) {
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		ended := errA == io.EOF || errA == io.ErrUnexpectedEOF
		if ended && (errB == io.EOF || errB == io.ErrUnexpectedEOF) {
			return true, nil
		}
		if errA != nil || errB != nil {
			return false, errors.Join(errA, errB)
		}
	}
}

// Read reads the stream (io.Reader).
func (s *Source) Read(p []byte) (int, error) {
	for {
		if s.at >= s.parts {
			return s.readActive(p)
		}
		if s.f == nil {
			f, err := openPart(partPath(s.log, s.at))
			if err != nil {
				return 0, fmt.Errorf("read the receipts: %w", err)
			}
			s.f = f
		}
		n, err := s.f.Read(p)
		s.offset += int64(n)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		s.f.Close()
		s.f, s.offset = nil, 0
		s.at++
	}
}

// readActive reads what is still written to, up to where it ended at first.
func (s *Source) readActive(p []byte) (int, error) {
	if p = p[:min(int64(len(p)), s.limit-s.offset)]; len(p) == 0 {
		return 0, io.EOF
	}
	from := s.active
	if s.f == nil && !s.held {
		if err := durable.Flock(s.active, unix.LOCK_SH); err != nil {
			return 0, err
		}
		defer durable.Flock(s.active, unix.LOCK_UN)
		// copied to a part, and cut, since we began: the bytes are there now
		if f, err := openPart(partPath(s.log, s.parts)); err == nil {
			s.f = f
		} else if !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	if s.f != nil {
		from = s.f
	}
	n, err := from.ReadAt(p, s.offset)
	s.offset += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// Size is the size of the whole, in bytes.
func (s *Source) Size() (int64, error) {
	total := s.limit
	for i := range s.parts {
		info, err := os.Lstat(partPath(s.log, i))
		if err != nil {
			return 0, fmt.Errorf("examine the receipts: %w", err)
		}
		total += info.Size()
	}
	return total, nil
}

// Skip passes over so many bytes, before the first Read.
func (s *Source) Skip(n int64) error {
	for ; s.at < s.parts; s.at++ {
		info, err := os.Lstat(partPath(s.log, s.at))
		if err != nil {
			return fmt.Errorf("examine the receipts: %w", err)
		}
		if n < info.Size() {
			f, err := openPart(partPath(s.log, s.at))
			if err != nil {
				return fmt.Errorf("read the receipts: %w", err)
			}
			s.f = f
			_, err = f.Seek(n, io.SeekStart)
			return err
		}
		n -= info.Size()
	}
	s.offset = min(n, s.limit)
	return nil
}

// seek goes to the byte at which the next Read begins.
func (s *Source) seek(to int64) error {
	if s.f != nil {
		s.f.Close()
	}
	s.f, s.at, s.offset = nil, 0, 0
	return s.Skip(to)
}

// Close closes the files.
func (s *Source) Close() error {
	var errs []error
	for _, f := range []*os.File{s.f, s.active} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

var errStop = errors.New("stop")

// each calls f for each line until f fails; ended tells that a newline stands behind it. A line longer than any receipt
// is handed over cut to maxLineBytes, which makes it neither a receipt nor a torn one; the rest of it is skipped.
func each(r io.Reader, f func(raw []byte, ended bool) error) error {
	b := bufio.NewReaderSize(r, 256<<10)
	for {
		raw, err := b.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && err != io.EOF && !long {
			return err
		}
		if len(raw) == 0 {
			return nil
		}
		ended := raw[len(raw)-1] == '\n'
		line := bytes.TrimSuffix(raw, []byte{'\n'})
		if ferr := f(line[:min(len(line), maxLineBytes)], ended); ferr != nil {
			return ferr
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if long && err != nil && err != io.EOF {
			return err
		}
	}
}
