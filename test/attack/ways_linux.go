package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// call is a raw system call that is possible unless the kernel refuses it.
func call(number uintptr, args ...uintptr) func() error {
	return func() error {
		a := make([]uintptr, 6)
		copy(a, args)
		_, _, e := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		// What is reached complains about its arguments; what is refused says so.
		switch e {
		case 0, unix.EFAULT, unix.EBADF, unix.EINVAL, unix.ESRCH, unix.ENOENT, unix.EAGAIN, unix.ENOKEY, unix.ENOTSOCK,
			unix.EMSGSIZE:
			return nil
		}
		return e
	}
}

func socket(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func write(path string) func() error {
	return func() error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			f.Close()
		}
		return err
	}
}

func read(path string) func() error {
	return func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
		return err
	}
}

func see(path string) func() error {
	return func() error { _, err := os.Lstat(path); return err }
}

func dial(network, address string) func() error {
	return func() error {
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}
}

// list is a list of planted things, from the environment.
func list(name string) []string {
	return strings.FieldsFunc(os.Getenv(name), func(r rune) bool { return r == ':' })
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func linked(dir, name, target string) error {
	link := filepath.Join(dir, name+"l")
	os.Remove(link)
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	defer os.Remove(link)
	if read(link)() == nil {
		return nil
	}
	return os.Link(target, link+"2")
}

func setID(set func(string) error) error {
	f, err := os.CreateTemp(".", "attack-")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	return set(f.Name())
}

func spawn(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = attr
	return cmd.Run()
}

// capabilities tells whether there is one.
func capabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	for _, d := range data {
		if d.Effective|d.Permitted|d.Inheritable != 0 {
			return nil
		}
	}
	return unix.EPERM
}

func signal(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return unix.Kill(n, 0)
}

// holds tells whether a file holds the planted secret.
func holds(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.Contains(string(b), "planted-"+"value") {
		return nil
	}
	return unix.ENOENT
}

// descriptors looks for a descriptor that was inherited: those that Go has opened itself are no files.
func descriptors() error {
	for fd := 3; fd < 200; fd++ {
		path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/proc/") &&
			!strings.HasPrefix(path, "/sys/") {
			return nil
		}
	}
	return unix.EBADF
}

func affinity() error {
	var all unix.CPUSet
	for i := range 64 {
		all.Set(i)
	}
	return unix.SchedSetaffinity(0, &all)
}

func raise(resource int) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Cur, l.Max = l.Max+1000, l.Max+1000
	return unix.Setrlimit(resource, &l)
}
