package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve allocates n bytes after the end of a file without changing its size.
func reserve(f *os.File, end, n int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, end, n); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
