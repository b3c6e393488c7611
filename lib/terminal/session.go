package terminal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Session names the session on the controlling terminal that this process belongs to, the same for all its programs, or
// "" if there is no terminal. No two sessions of a machine have the same name, although device and process numbers come
// again.
func Session() string {
	fd, err := unix.Open(ttyPath, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	_, device := realPaths(fd)
	leader, err := unix.Getsid(0)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d:%s", device, leader, started(leader))
}
