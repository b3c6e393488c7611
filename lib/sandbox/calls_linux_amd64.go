package sandbox

import (
	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// groupsHere are the calls that this machine alone has: the older forms of those in groups, treated like these.
var groupsHere = []group{
	{why: "older forms: copies and pipes", do: allow, calls: []uintptr{unix.SYS_DUP2, unix.SYS_PIPE,
		unix.SYS_GETDENTS}},
	{why: "older forms: looks at names and files", do: allow, calls: []uintptr{unix.SYS_STAT, unix.SYS_LSTAT,
		unix.SYS_ACCESS, unix.SYS_READLINK}},
	{why: "older forms: makes, renames and removes names", do: allow, calls: []uintptr{unix.SYS_MKDIR,
		unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_SYMLINK}},
	{why: "older forms: changes owner and times by name; without a view of its own the keeper does it", do: allow,
		bare: seccomp.Notify, calls: []uintptr{unix.SYS_CHOWN,
			unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}},
	{why: "older forms: watches directories", do: allow, bare: enosys, calls: []uintptr{unix.SYS_INOTIFY_INIT}},
	{why: "older forms: starts programs", do: allow, calls: []uintptr{unix.SYS_FORK, unix.SYS_VFORK,
		unix.SYS_GETPGRP}},
	{why: "older forms: waits", do: allow, calls: []uintptr{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_PAUSE,
		unix.SYS_ALARM, unix.SYS_TIME, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT,
		unix.SYS_EVENTFD, unix.SYS_SIGNALFD}},
	{why: "the machine's ports and segments", do: eperm, calls: []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM,
		unix.SYS_MODIFY_LDT}},
	{why: "tells file systems and modules as kernels of long ago did", do: enosys, calls: []uintptr{unix.SYS_USELIB,
		unix.SYS_SYSFS, unix.SYS_USTAT, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE}},
	{why: "has a number, and was never there or is there no more", do: enosys, calls: []uintptr{unix.SYS_GETPMSG,
		unix.SYS_PUTPMSG, unix.SYS_AFS_SYSCALL, unix.SYS_TUXCALL,
		unix.SYS_SECURITY, unix.SYS_VSERVER, unix.SYS_SET_THREAD_AREA, unix.SYS_GET_THREAD_AREA,
		unix.SYS_EPOLL_CTL_OLD, unix.SYS_EPOLL_WAIT_OLD}},
	{why: "is for the kernel's own trampolines", do: enosys, calls: []uintptr{unix.SYS_UPROBE, unix.SYS_URETPROBE}},
}

// forksHere are the older calls of this machine that make a process.
var forksHere = []uintptr{unix.SYS_FORK, unix.SYS_VFORK}

// Arguments of arch_prctl(2) that programs need.
const (
	archSetGS, archSetFS, archGetFS, archGetGS = 0x1001, 0x1002, 0x1003, 0x1004
	archXcompSupported, archXcompGet           = 0x1021, 0x1022
	archXcompRequest, archCETStatus            = 0x1023, 0x3001
)

// checkedHere are the older calls of this machine whose arguments decide.
var checkedHere = []checked{
	{why: "opens files", calls: []uintptr{unix.SYS_OPEN}, otherwise: allow, cases: []argCase{
		{why: "no access mode that Landlock does not see", args: []seccomp.Arg{{Index: 1, Op: seccomp.AllSet,
			Value: modeNone}}, do: eperm},
		{why: "makes no set-id file", args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet, Value: makesFile},
			{Index: 2, Op: seccomp.MaskSet, Value: setID}}, do: eperm}}},
	{why: "makes files and sets modes by name", calls: []uintptr{unix.SYS_CREAT}, otherwise: allow, cases: []argCase{
		{why: "makes no set-id file", args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet, Value: setID}},
			do: eperm}}},
	{why: "sets modes", calls: []uintptr{unix.SYS_CHMOD}, otherwise: allow, cases: []argCase{
		{why: "makes no set-id file", args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet, Value: setID}},
			do: eperm},
		keeperDoes}},
	{why: "makes pipes and files", calls: []uintptr{unix.SYS_MKNOD}, otherwise: allow, cases: []argCase{
		{why: "makes no set-id file and no device", args: []seccomp.Arg{{Index: 1, Op: seccomp.MaskSet,
			Value: setID | devMode}}, do: eperm}}},
	{why: "the thread's segments, and the extended registers that libraries ask for",
		calls: []uintptr{unix.SYS_ARCH_PRCTL}, otherwise: einval, cases: []argCase{
			{why: "known ones only", do: allow, args: []seccomp.Arg{{Index: 0, Op: seccomp.In,
				Values: []uint32{archSetFS, archGetFS, archSetGS, archGetGS, archCETStatus,
					archXcompSupported, archXcompGet, archXcompRequest}}}}}},
}

// changesHere are the older calls of this machine that change metadata.
var changesHere = []change{
	{number: unix.SYS_CHMOD, dir: none, path: 0, mode: 1, owner: none, times: none, flags: none},
	{number: unix.SYS_CHOWN, dir: none, path: 0, mode: none, owner: 1, times: none, flags: none},
	{number: unix.SYS_LCHOWN, dir: none, path: 0, mode: none, owner: 1, times: none, flags: none, noFollow: true},
	{number: unix.SYS_UTIME, dir: none, path: 0, mode: none, owner: none, times: 1, unit: wholeSeconds, flags: none},
	{number: unix.SYS_UTIMES, dir: none, path: 0, mode: none, owner: none, times: 1, unit: microseconds, flags: none},
	{number: unix.SYS_FUTIMESAT, dir: 0, path: 1, mode: none, owner: none, times: 2, unit: microseconds, flags: none,
		null: true},
}
