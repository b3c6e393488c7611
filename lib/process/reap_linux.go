package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reap makes this process adopt orphans among its descendants, so that KillDescendants finds them.
func Reap() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reap reaps an orphan that has ended; a process that is not our child is reaped by its own parent.
func reap(pid int) { unix.Wait4(pid, nil, unix.WNOHANG, nil) }

// dead reports whether a process has ended, reaped or not.
func dead(pid int) bool {
	stat, err := ReadProc("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// ReadProc reads a file of /proc. os.ReadFile would register it for polling, which takes more system calls than
// reading it.
func ReadProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for {
		b = slices.Grow(b, 1)
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return b, nil
		default:
			b = b[:len(b)+n]
		}
	}
}

// reapAfter waits until the program has ended, calls ended, and only then reaps it: until then, neither its pid nor
// its group's can be reused for another process.
func reapAfter(cmd *exec.Cmd, ended func()) error {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	ended()
	return cmd.Wait()
}
