package main

import "golang.org/x/sys/unix"

// refusedHere are the older calls of this machine.
var refusedHere = map[string]uintptr{"iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM,
	"modify_ldt": unix.SYS_MODIFY_LDT, "uselib": unix.SYS_USELIB,
	"sysfs": unix.SYS_SYSFS, "ustat": unix.SYS_USTAT, "_sysctl": unix.SYS__SYSCTL,
	"create_module": unix.SYS_CREATE_MODULE,
	"query_module":  unix.SYS_QUERY_MODULE}

// olderChange are the calls that change a file by its name, older forms.
var olderChange = map[string]func(p string) error{
	"chmod":     func(p string) error { return raw(unix.SYS_CHMOD, str(p), 0o777) },
	"chown":     func(p string) error { return raw(unix.SYS_CHOWN, str(p), minusOne, minusOne) },
	"lchown":    func(p string) error { return raw(unix.SYS_LCHOWN, str(p), own(), minusOne) },
	"utime":     func(p string) error { return raw(unix.SYS_UTIME, str(p), 0) },
	"utimes":    func(p string) error { return raw(unix.SYS_UTIMES, str(p), 0) },
	"futimesat": func(p string) error { return raw(unix.SYS_FUTIMESAT, cwd, str(p), 0) },
	"creat":     func(p string) error { return raw(unix.SYS_CREAT, str(p), 0o644) },
	"open":      func(p string) error { return raw(unix.SYS_OPEN, str(p), unix.O_RDWR, 0) },
	"rename":    func(p string) error { return raw(unix.SYS_RENAME, str(p), str(p+"2")) },
	"unlink":    func(p string) error { return raw(unix.SYS_UNLINK, str(p)) },
	"link":      func(p string) error { return raw(unix.SYS_LINK, str(p), str("attack-linked")) },
	"mknod":     func(p string) error { return raw(unix.SYS_MKNOD, str(p+"n"), unix.S_IFREG|0o644, 0) },
	"mkdir":     func(p string) error { return raw(unix.SYS_MKDIR, str(p+"d"), 0o755) },
	"symlink":   func(p string) error { return raw(unix.SYS_SYMLINK, str("x"), str(p+"s")) },
}

// machines attempts the calls of other machines that this processor takes: they must kill, so a child calls.
func (w world) machines() []attempt {
	return []attempt{{"calls: 32-bit", func() error { return child("int80") }},
		{"calls: x32", func() error { return child("x32") }},
		{"calls: x32 of another number", func() error { return child("x32-exec") }}}
}

// foreign calls as another machine does. It returns if that is possible.
func foreign(how string) {
	switch how {
	case "int80":
		int80()
	case "x32":
		unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0)
	case "x32-exec":
		unix.RawSyscall(0x40000000|520, 0, 0, 0)
	}
}

// int80 asks for the process's number by the 32-bit way.
func int80()
