package confine

import "golang.org/x/sys/unix"

// forks are the older calls that make a process.
var forks = []uintptr{unix.SYS_FORK, unix.SYS_VFORK}
