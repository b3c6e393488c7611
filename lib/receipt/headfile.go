package receipt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// headFile is the head as who appends keeps it open: it is replaced by another file only when it gets longer, when keys
// are replaced, and by who mends a log, so that nothing but its name is looked at for each receipt. The log is locked
// in all that it does.
//
// After an append the head is overwritten where it lies, in one write to one sector that is there already: that takes
// no new block, which a full disk might not have, and no transaction of the file system, for which the sync of the next
// receipt would wait. It is not synced: a power cut that takes it back leaves a head that is behind, and no more.
type headFile struct {
	f    *os.File
	info fs.FileInfo // of f, when it was opened
	size int64       // when it was last looked at
}

// same tells whether what has the name is the file that is open. It cannot be another of the same number: that is taken
// as long as the file is open.
func (h *headFile) same(log string) bool {
	if h.f == nil {
		return false
	}
	named, err := os.Lstat(headPath(log))
	if err != nil || !os.SameFile(named, h.info) {
		h.close()
		return false
	}
	h.size = named.Size()
	return true
}

// read returns the head, nil if there is none.
func (h *headFile) read(log string) ([]byte, error) {
	if !h.same(log) {
		if err := h.open(log); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		} else if err != nil {
			return readHead(log) // it can be read at least, or this says what is wrong
		}
	}
	buf := make([]byte, maxHeadBytes)
	n, err := h.f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read the head: %w", err)
	}
	return buf[:n], nil
}

// open opens the file that has the name; a link is refused, and so is anything but a regular file.
func (h *headFile) open(log string) error {
	f, err := os.OpenFile(headPath(log), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	h.f, h.info, h.size = f, info, info.Size()
	return nil
}

const sectorBytes = 512

// overwrite writes the head if what is open is as long: else, when the count gets one more digit, the file is to be
// replaced.
func (h *headFile) overwrite(raw []byte) (done bool, err error) {
	if h.f == nil || len(raw) > sectorBytes || h.size != int64(len(raw)) {
		return false, nil
	}
	if _, err = h.f.WriteAt(raw, 0); err != nil {
		return false, fmt.Errorf("overwrite the head: %w", err)
	}
	return true, nil
}

func (h *headFile) close() error {
	if h.f == nil {
		return nil
	}
	err := h.f.Close()
	*h = headFile{}
	return err
}
