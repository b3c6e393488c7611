package terminal

import "golang.org/x/sys/unix"

// ttyPath is the name under which every process finds its controlling terminal.
const ttyPath = "/dev/tty"

// Device is the path of the controlling terminal's own device, which questions lock against each other; /dev/tty if it
// has no name here, or there is no terminal yet.
func Device() string {
	fd, err := unix.Open(ttyPath, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ttyPath
	}
	defer unix.Close(fd)
	real, path := openReal(fd)
	if real < 0 {
		return ttyPath
	}
	unix.Close(real)
	return path
}
