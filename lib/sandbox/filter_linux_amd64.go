package sandbox

import (
	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// forbiddenHere are calls that this machine alone has.
var forbiddenHere = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_SYSFS, unix.SYS_USTAT,
	unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE}

// rulesHere are for the older calls of this machine.
var rulesHere = []seccomp.Rule{
	{Syscalls: []uintptr{unix.SYS_CHMOD, unix.SYS_CREAT, unix.SYS_MKNOD}, Args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet, Value: setID}},
		Action: seccomp.Errno(eperm)},
	{Syscalls: []uintptr{unix.SYS_MKNOD}, Args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet, Value: devMode}}, Action: seccomp.Errno(eperm)},
	{Syscalls: []uintptr{unix.SYS_OPEN}, Args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet, Value: makesFile}, {Index: 2, Op: seccomp.MaskSet, Value: setID}},
		Action: seccomp.Errno(eperm)},
}
