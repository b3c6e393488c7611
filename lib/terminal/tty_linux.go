package terminal

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// flushInput throws away what was typed and not read yet (tcflush).
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// realPaths lists where the terminal behind a descriptor of /dev/tty may be found, and its device number.
func realPaths(fd int) (paths []string, dev uint64) {
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGDEV)
	if err != nil {
		return nil, 0
	}
	dev = uint64(n)
	minor := unix.Minor(dev)
	return []string{fmt.Sprintf("/dev/pts/%d", minor), fmt.Sprintf("/dev/tty%d", minor),
		fmt.Sprintf("/dev/char/%d:%d", unix.Major(dev), minor)}, dev
}

// started is when a process began, in the kernel's ticks (proc_pid_stat(5)), or "" if it is gone.
func started(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	const behindName = 19 // fields from the state to the start
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= behindName {
		return ""
	}
	return fields[behindName]
}
