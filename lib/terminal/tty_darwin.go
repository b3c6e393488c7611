package terminal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// flushInput throws away what was typed and not read yet (tcflush): 1 is FREAD.
func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }

// realPaths lists where our controlling terminal may be found, and its device number.
func realPaths(int) (paths []string, dev uint64) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	if err != nil {
		return nil, 0
	}
	dev = uint64(uint32(info.Eproc.Tdev))
	return []string{fmt.Sprintf("/dev/ttys%03d", unix.Minor(dev))}, dev
}

// started is when a process began, or "" if it is gone.
func started(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d.%d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec)
}
