package terminal

import "golang.org/x/sys/unix"

// flushInput throws away what was typed and not read yet (tcflush).
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
