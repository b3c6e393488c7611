package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reap makes this process the one that orphans among its descendants are given to, so that KillDescendants finds them.
func Reap() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reap collects an orphan that has ended; what is not a child of ours is collected by its own parent.
func reap(pid int) { unix.Wait4(pid, nil, unix.WNOHANG, nil) }

// dead tells that a process has ended, collected or not.
func dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// reapAfter waits until the program has ended, calls ended and collects the program only then: until it is collected,
// neither its pid nor its group's can be given to a process that is none of ours.
func reapAfter(cmd *exec.Cmd, ended func()) error {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	ended()
	return cmd.Wait()
}
