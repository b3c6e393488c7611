package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const minusOne = ^uintptr(0)

// cwd is AT_FDCWD.
var cwd = ^uintptr(99)

func own() uintptr { return uintptr(os.Getuid()) }

// str is a path for a raw call. What it points to lives as long as the program.
func str(p string) uintptr {
	b := append([]byte(p), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

var kept [][]byte

func raw(number uintptr, args ...uintptr) error {
	a := make([]uintptr, 6)
	copy(a, args)
	_, _, e := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return orNil(e)
}

// changes are the ways to change a file by its name: its owner, mode, times, attributes, length, name and content.
var changes = map[string]func(p string) error{
	"fchmodat":  func(p string) error { return raw(unix.SYS_FCHMODAT, cwd, str(p), 0o777) },
	"fchmodat2": func(p string) error { return raw(unix.SYS_FCHMODAT2, cwd, str(p), 0o777, unix.AT_SYMLINK_NOFOLLOW) },
	"fchownat":  func(p string) error { return raw(unix.SYS_FCHOWNAT, cwd, str(p), own(), minusOne, 0) },
	"utimensat": func(p string) error { return raw(unix.SYS_UTIMENSAT, cwd, str(p), 0, 0) },
	"setxattr":  func(p string) error { return raw(unix.SYS_SETXATTR, str(p), str("user.attack"), str("x"), 1, 0) },
	"lsetxattr": func(p string) error { return raw(unix.SYS_LSETXATTR, str(p), str("user.attack"), str("x"), 1, 0) },
	"set acl": func(p string) error {
		return unix.Setxattr(p, "system.posix_acl_access", []byte("\x02\x00\x00\x00"), 0)
	},
	"removexattr":  func(p string) error { return attribute(unix.Removexattr(p, "user.attack")) },
	"lremovexattr": func(p string) error { return attribute(unix.Lremovexattr(p, "user.attack")) },
	"setxattrat": func(p string) error {
		return raw(unix.SYS_SETXATTRAT, cwd, str(p), 0, str("user.a"), str(strings.Repeat("\x00", 16)), 16)
	},
	"file_setattr": func(p string) error {
		return raw(unix.SYS_FILE_SETATTR, cwd, str(p), str(strings.Repeat("\x00", 24)), 24, 0)
	},
	"truncate":       func(p string) error { return unix.Truncate(p, 3) },
	"open to write":  func(p string) error { return opened(p, unix.O_WRONLY, nil) },
	"open to append": func(p string) error { return opened(p, unix.O_WRONLY|unix.O_APPEND, nil) },
	"open to cut":    func(p string) error { return opened(p, unix.O_RDONLY|unix.O_TRUNC, nil) },
	"openat2": func(p string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_WRONLY})
		if err == nil {
			unix.Close(fd)
		}
		return err
	},
	"renameat2": func(p string) error {
		return unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, p+"2", unix.RENAME_NOREPLACE)
	},
	"rename into the workspace": func(p string) error { return unix.Rename(p, "attack-renamed") },
	"replace":                   func(p string) error { return replaced(p) },
	"exchange":                  func(p string) error { return exchanged(p) },
	"unlinkat":                  func(p string) error { return unix.Unlinkat(unix.AT_FDCWD, p, 0) },
	"linkat": func(p string) error {
		return unix.Linkat(unix.AT_FDCWD, p, unix.AT_FDCWD,
			"attack-linked", 0)
	},
	"link beside": func(p string) error { return unix.Link(p, p+"3") },
	"link by descriptor": func(p string) error {
		return opened(p, unix.O_PATH,
			func(fd int) error { return unix.Linkat(fd, "", unix.AT_FDCWD, "attack-linked", unix.AT_EMPTY_PATH) })
	},
	"make a file beside":      func(p string) error { return opened(p+"n", unix.O_WRONLY|unix.O_CREAT, nil) },
	"make a directory beside": func(p string) error { return unix.Mkdir(p+"d", 0o755) },
	"make a link beside":      func(p string) error { return unix.Symlink("x", p+"s") },
	"make a pipe beside":      func(p string) error { return unix.Mkfifo(p+"p", 0o644) },
	"make a socket beside":    func(p string) error { return unix.Mknod(p+"k", unix.S_IFSOCK|0o644, 0) },
	"temporary file beside":   func(p string) error { return opened(filepath.Dir(p), unix.O_TMPFILE|unix.O_RDWR, nil) },
	"write through a link": func(p string) error {
		os.Remove("attack-through")
		if err := os.Symlink(p, "attack-through"); err != nil {
			return err
		}
		return opened("attack-through", unix.O_WRONLY, nil)
	},
	"chmod through a link": func(p string) error {
		os.Remove("attack-through")
		if err := os.Symlink(p, "attack-through"); err != nil {
			return err
		}
		return unix.Chmod("attack-through", 0o777)
	},
	"touch from its directory": func(p string) error {
		return opened(filepath.Dir(p), unix.O_PATH|unix.O_DIRECTORY,
			func(fd int) error { return raw(unix.SYS_UTIMENSAT, uintptr(fd), str(filepath.Base(p)), 0, 0) })
	},
	"chmod from its directory": func(p string) error {
		return opened(filepath.Dir(p), unix.O_PATH|unix.O_DIRECTORY,
			func(fd int) error { return unix.Fchmodat(fd, filepath.Base(p), 0o777, 0) })
	},
	"remove its directory": func(p string) error { return unix.Rename(filepath.Dir(p), filepath.Dir(p)+"2") },
}

// byDescriptor are the ways to change what is open; each is tried with each way to open.
var byDescriptor = map[string]func(fd int) error{
	"fchmod":       func(fd int) error { return unix.Fchmod(fd, 0o777) },
	"fchown":       func(fd int) error { return unix.Fchown(fd, os.Getuid(), -1) },
	"futimens":     func(fd int) error { return raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0) },
	"fsetxattr":    func(fd int) error { return unix.Fsetxattr(fd, "user.attack", []byte("x"), 0) },
	"fremovexattr": func(fd int) error { return attribute(unix.Fremovexattr(fd, "user.attack")) },
	"ftruncate":    func(fd int) error { return unix.Ftruncate(fd, 3) },
	"write":        func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err },
	"fallocate":    func(fd int) error { return unix.Fallocate(fd, 0, 0, 1<<20) },
	"setflags": func(fd int) error {
		flags := uint64(0)
		return raw(unix.SYS_IOCTL, uintptr(fd), unix.FS_IOC_SETFLAGS, uintptr(unsafe.Pointer(&flags)))
	},
	"lease": func(fd int) error {
		_,
			err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	},
	"empty fchmodat2": func(fd int) error {
		return raw(unix.SYS_FCHMODAT2, uintptr(fd), str(""), 0o777,
			unix.AT_EMPTY_PATH)
	},
	"empty fchownat": func(fd int) error { return unix.Fchownat(fd, "", os.Getuid(), -1, unix.AT_EMPTY_PATH) },
	"empty utimensat": func(fd int) error {
		return raw(unix.SYS_UTIMENSAT, uintptr(fd), str(""), 0,
			unix.AT_EMPTY_PATH)
	},
	"chmod in /proc": func(fd int) error { return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o777) },
	"open in /proc":  func(fd int) error { return opened("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY, nil) },
}

var openings = map[string]int{"open to read": unix.O_RDONLY | unix.O_NONBLOCK, "open to nothing": unix.O_ACCMODE |
	unix.O_NONBLOCK, "open as a path": unix.O_PATH}

// metadata attempts every change on files of the user that lie outside the workspace.
func (w world) metadata() []attempt {
	var all []attempt
	targets := map[string]string{"temporary": w.tmp, "readable": w.readable}
	if len(w.hidden) > 0 {
		targets["hidden"] = w.hidden[0]
	}
	for which, p := range targets {
		for _, set := range []map[string]func(string) error{changes, olderChange} {
			for name, change := range set {
				all = append(all, attempt{"files: " + name + ", " + which, func() error { return change(p) }})
			}
		}
		for how, flags := range openings {
			for name, change := range byDescriptor {
				all = append(all, attempt{fmt.Sprintf("files: %s by descriptor, %s, %s", name, which, how),
					func() error { return opened(p, flags, change) }})
			}
		}
	}
	return all
}

// attribute: that there is none to remove means that it could be.
func attribute(err error) error {
	if err == unix.ENODATA {
		return nil
	}
	return err
}

func opened(p string, flags int, then func(fd int) error) error {
	fd, err := unix.Open(p, flags, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if then == nil {
		return nil
	}
	return then(fd)
}

func replaced(p string) error {
	if err := os.WriteFile("attack-new", []byte("x"), 0o644); err != nil {
		return err
	}
	return unix.Rename("attack-new", p)
}

func exchanged(p string) error {
	if err := os.WriteFile("attack-new", []byte("x"), 0o644); err != nil {
		return err
	}
	return unix.Renameat2(unix.AT_FDCWD, "attack-new", unix.AT_FDCWD, p, unix.RENAME_EXCHANGE)
}
