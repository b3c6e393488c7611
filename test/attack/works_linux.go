package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// works are things that must work.
func works() []attempt {
	dir, _ := os.Getwd()
	return []attempt{
		{"write the workspace", func() error { return setID(func(string) error { return nil }) }},
		{"start a program", func() error { return spawn(nil) }},
		{"read the system", read("/usr/bin/env")},
		{"/dev/null", write("/dev/null")}, {"/dev/urandom", read("/dev/urandom")},
		{"a pair of sockets", func() error {
			_,
				err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		}},
		{"change a mode", func() error {
			return setID(func(p string) error {
				return opened(p, unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, 0o755) })
			})
		}},
		{"change a mode by name", func() error { return setID(func(p string) error { return unix.Chmod(p, 0o755) }) }},
		{"change times by name", func() error {
			return setID(func(p string) error { return os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0)) })
		}},
		{"keep an owner",
			func() error { return setID(func(p string) error { return unix.Lchown(p, os.Getuid(), -1) }) }},
		{"change times", func() error {
			return setID(func(p string) error {
				return opened(p, unix.O_WRONLY,
					func(fd int) error { return raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0) })
			})
		}},
		{"a filter of its own", allowAll(0)}, {"a message over a pair", func() error {
			ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(ends[0], []byte("x"), 0, nil)
		}},
		{"a pipe file", func() error { defer os.Remove(dir + "/fifo"); return unix.Mkfifo(dir+"/fifo", 0o600) }},
	}
}
