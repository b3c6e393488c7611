package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the file's content and size durable, but not its times.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
