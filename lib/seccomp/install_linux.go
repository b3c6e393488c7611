package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Install applies the program permanently: to all threads of the process, or only to the calling thread, which the
// caller must have locked (runtime.LockOSThread), and to everything that it starts. The process must already have
// no_new_privs (prctl(2)) or CAP_SYS_ADMIN.
func (p Program) Install(allThreads bool) error {
	var flags uintptr
	if allThreads {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	thread, err := p.install(flags)
	if err == nil && thread != 0 {
		return fmt.Errorf("install a seccomp filter: thread %d has another one", thread)
	}
	return err
}

// Listen applies the program to the calling thread, and returns the descriptor through which its notifications are
// answered (seccomp_unotify(2)).
func (p Program) Listen() (int, error) {
	fd, err := p.install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("another filter, of a container or of what started us, has the only listener that the kernel allows: %w", err)
	}
	if err != nil {
		return -1, err
	}
	return int(fd), nil
}

// Words returns the program in the kernel's format, for callers that cannot use Install. It is nil for an empty
// program.
func (p Program) Words() *unix.SockFprog {
	if len(p) == 0 {
		return nil
	}
	return &unix.SockFprog{Len: uint16(len(p)), Filter: (*unix.SockFilter)(unsafe.Pointer(&p[0]))}
}

func (p Program) install(flags uintptr) (uintptr, error) {
	if len(p) == 0 {
		return 0, fmt.Errorf("install a seccomp filter: it is empty")
	}
	// A raw call: the runtime may not run in between, since from here on the filter applies to its own calls.
	got, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(p.Words())))
	runtime.KeepAlive(p)
	if errno != 0 {
		return 0, fmt.Errorf("install a seccomp filter: %w", errno)
	}
	return got, nil
}
