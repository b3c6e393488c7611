package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Reap makes this process the one that orphans among its descendants are given to, so that KillDescendants finds them.
func Reap() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// childless tells in one system call whether we have no children at all, so that nothing needs to be searched.
func childless() bool {
	return errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD)
}

// reap collects killed orphans; those that are not our children are collected by their own parents.
func reap(pids []int) {
	for _, p := range pids {
		for range 20 {
			got, err := unix.Wait4(p, nil, unix.WNOHANG, nil)
			if err != nil || got == p {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
