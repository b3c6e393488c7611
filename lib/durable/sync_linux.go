package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the file's content and size durable; times may wait.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
