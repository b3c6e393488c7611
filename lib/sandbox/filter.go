//go:build linux

package sandbox

import (
	"sync"

	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// Flags that system call arguments are searched for.
const (
	setID        = 0o6000     // set-user-ID, set-group-ID
	devMode      = 0o020000   // a bit that both kinds of device have in a mode, and nothing else that can be made
	makesFile    = 0o20000100 // O_CREAT, __O_TMPFILE: only with these open has a mode
	newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

const (
	eperm        = uint16(unix.EPERM)
	enosys       = uint16(unix.ENOSYS)
	eafnosupport = uint16(unix.EAFNOSUPPORT)
)

// forbidden are the calls that no program in the sandbox has a use for: they change what it sees, look into other
// processes, reach rarely walked parts of the kernel, or hold memory where no limit counts it.
var forbidden = []uintptr{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_USERFAULTFD, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_VHANGUP,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_MEMFD_CREATE,
	unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_SEMGET,
	unix.SYS_MQ_OPEN, unix.SYS_SCHED_SETAFFINITY, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_LISTMOUNT, unix.SYS_STATMOUNT, unix.SYS_FILE_SETATTR,
}

// absent are calls whose arguments a filter cannot look into. Programs take the older call when these do not exist.
var absent = []uintptr{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// filter is what programs in the sandbox are held to.
func filter() seccomp.Filter {
	deny := seccomp.Errno(eperm)
	arg := func(i int, op seccomp.Op, v uint32) seccomp.Arg { return seccomp.Arg{Index: i, Op: op, Value: v} }
	on := func(nr ...uintptr) []uintptr { return nr }
	rules := []seccomp.Rule{
		{Syscalls: append(forbidden, forbiddenHere...), Action: deny},
		{Syscalls: absent, Action: seccomp.Errno(enosys)},
		{Syscalls: on(unix.SYS_CLONE), Args: []seccomp.Arg{arg(0, seccomp.MaskSet, newNamespace)}, Action: deny},
		{Syscalls: on(unix.SYS_SOCKET), Action: seccomp.Errno(eafnosupport)},
		{Syscalls: on(unix.SYS_SOCKETPAIR), Args: []seccomp.Arg{arg(0, seccomp.NotEqual, unix.AF_UNIX)}, Action: seccomp.Errno(eafnosupport)},
		{Syscalls: on(unix.SYS_FCHMOD), Args: []seccomp.Arg{arg(1, seccomp.MaskSet, setID)}, Action: deny},
		{Syscalls: on(unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_MKNODAT), Args: []seccomp.Arg{arg(2, seccomp.MaskSet, setID)}, Action: deny},
		{Syscalls: on(unix.SYS_OPENAT), Args: []seccomp.Arg{arg(2, seccomp.MaskSet, makesFile), arg(3, seccomp.MaskSet, setID)}, Action: deny},
		{Syscalls: on(unix.SYS_MKNODAT), Args: []seccomp.Arg{arg(2, seccomp.MaskSet, devMode)}, Action: deny},
		{Syscalls: on(unix.SYS_IOCTL), Args: []seccomp.Arg{arg(1, seccomp.Equal, unix.TIOCSTI)}, Action: deny},
		{Syscalls: on(unix.SYS_IOCTL), Args: []seccomp.Arg{arg(1, seccomp.Equal, 0x541C)}, Action: deny}, // TIOCLINUX
		{Syscalls: on(unix.SYS_IOCTL), Args: []seccomp.Arg{arg(1, seccomp.Equal, unix.TIOCSETD)}, Action: deny},
		{Syscalls: on(unix.SYS_PRLIMIT64), Args: []seccomp.Arg{arg(0, seccomp.NotZero, 0)}, Action: deny},
		{Syscalls: on(unix.SYS_PERSONALITY), Args: []seccomp.Arg{arg(0, seccomp.Equal, 0)}, Action: seccomp.Allow},
		{Syscalls: on(unix.SYS_PERSONALITY), Args: []seccomp.Arg{arg(0, seccomp.Equal, 0xffffffff)}, Action: seccomp.Allow},
		{Syscalls: on(unix.SYS_PERSONALITY), Action: deny},
	}
	return seccomp.Filter{Default: seccomp.Allow, Rules: append(rules, rulesHere...)}
}

// program is the filter, assembled.
var program = sync.OnceValues(func() (seccomp.Program, error) { return filter().Assemble() })
