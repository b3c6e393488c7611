package terminal

import "golang.org/x/sys/unix"

// flushInput throws away what was typed and not read yet (tcflush): 1 is FREAD.
func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }
