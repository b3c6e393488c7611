package sandbox

import (
	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// Flags that arguments are searched for.
const (
	setID        = 0o6000     // set-user-ID, set-group-ID
	devMode      = 0o020000   // a bit that both kinds of device have in a mode, and nothing else that can be made
	makesFile    = 0o20000100 // O_CREAT, __O_TMPFILE: only with these open has a mode
	modeNone     = 3          // O_ACCMODE: neither read nor write, and yet a descriptor that fchmod(2) takes
	newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// Values that x/sys has no name for.
const (
	fionread     = 0x541B
	fionbio      = 0x5421
	fionclex     = 0x5450
	fioclex      = 0x5451
	fsFiemap     = 0xC020660B
	tcgets2      = 0x802C542A
	fsGetXattr   = 0x801C581F
	madvMerge    = 12
	madvPoison   = 100
	madvOffline  = 101
	strictFilter = 0 // SECCOMP_SET_MODE_STRICT
	setFilter    = 1 // SECCOMP_SET_MODE_FILTER
	getAction    = 2 // SECCOMP_GET_ACTION_AVAIL
	otherFlags   = ^uint32(unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_LOG)
)

// ioctls are the requests that any descriptor may be asked. None of them changes what others see.
var ioctls = []uint32{unix.TCGETS, tcgets2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCGSID, unix.TIOCOUTQ, fionread,
	fionbio, fioclex, fionclex,
	unix.FICLONE, unix.FICLONERANGE, unix.FS_IOC_GETFLAGS, fsFiemap, fsGetXattr}

// fcntls are the commands that are known. Leases would make the user's own programs wait, owners send signals to
// others, and larger pipes hold memory that no limit counts.
var fcntls = []uint32{unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
	unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW,
	unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_GETPIPE_SZ, unix.F_GET_SEALS, unix.F_DUPFD_QUERY}

// prctls change the process alone, and nothing that confines it.
var prctls = []uint32{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_SET_VMA, unix.PR_SET_PDEATHSIG,
	unix.PR_GET_PDEATHSIG, unix.PR_SET_DUMPABLE, unix.PR_GET_DUMPABLE,
	unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS, unix.PR_SET_SECCOMP, unix.PR_GET_SECCOMP,
	unix.PR_CAPBSET_READ, unix.PR_CAPBSET_DROP, unix.PR_CAP_AMBIENT,
	unix.PR_GET_KEEPCAPS, unix.PR_SET_KEEPCAPS, unix.PR_GET_SECUREBITS, unix.PR_SET_CHILD_SUBREAPER,
	unix.PR_GET_CHILD_SUBREAPER, unix.PR_GET_TIMERSLACK, unix.PR_SET_TIMERSLACK,
	unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_SET_MDWE, unix.PR_GET_MDWE, unix.PR_GET_TID_ADDRESS,
	unix.PR_GET_SPECULATION_CTRL,
	unix.PR_SVE_SET_VL, unix.PR_SVE_GET_VL, unix.PR_PAC_RESET_KEYS, unix.PR_PAC_SET_ENABLED_KEYS,
	unix.PR_PAC_GET_ENABLED_KEYS, unix.PR_SET_TAGGED_ADDR_CTRL,
	unix.PR_GET_TAGGED_ADDR_CTRL}

// socketOptions are those of SOL_SOCKET that concern a pair alone: no filter programs, no devices, no marks.
var socketOptions = []uint32{unix.SO_REUSEADDR, unix.SO_SNDBUF, unix.SO_RCVBUF, unix.SO_KEEPALIVE, unix.SO_LINGER,
	unix.SO_PASSCRED, unix.SO_RCVLOWAT, unix.SO_RCVTIMEO,
	unix.SO_SNDTIMEO}

// pairTypes are the kinds of pairs that are connected and stay so. Datagrams (and SOCK_RAW, which the kernel takes for
// them) can be sent to any socket that has a name.
func pairTypes() (types []uint32) {
	for _, t := range []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		types = append(types, t, t|unix.SOCK_CLOEXEC, t|unix.SOCK_NONBLOCK, t|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	}
	return types
}

// Shorthands for the table.
func in(index int, values ...uint32) seccomp.Arg {
	return seccomp.Arg{Index: index, Op: seccomp.In, Values: values}
}
func is(index int, value uint32) seccomp.Arg {
	return seccomp.Arg{Index: index, Op: seccomp.Equal, Value: value}
}
func has(index int, mask uint32) seccomp.Arg {
	return seccomp.Arg{Index: index, Op: seccomp.MaskSet, Value: mask}
}
func null(index int) seccomp.Arg             { return seccomp.Arg{Index: index, Op: seccomp.Zero} }
func when(args ...seccomp.Arg) []seccomp.Arg { return args }

// keeperDoes is for changes of metadata, which Landlock does not govern.
var keeperDoes = argCase{why: "without a view of its own, of every file of the user: the keeper does it in the workspace",
	do: seccomp.Notify, bare: true}

// checkedCalls are the calls whose arguments decide.
var checkedCalls = []checked{
	{why: "opens files", calls: []uintptr{unix.SYS_OPENAT}, otherwise: allow, cases: []argCase{
		{why: "no access mode that Landlock does not see", args: when(seccomp.Arg{Index: 2, Op: seccomp.AllSet,
			Value: modeNone}), do: eperm},
		{why: "makes no set-id file", args: when(has(2, makesFile), has(3, setID)), do: eperm}}},
	{why: "memory advice", calls: []uintptr{unix.SYS_MADVISE}, otherwise: allow, cases: []argCase{
		{why: "pages merged with others' tell what these hold; damage to memory is not for programs",
			args: when(in(2, madvMerge, madvPoison, madvOffline)), do: einval}}},
	{why: "controls descriptors", calls: []uintptr{unix.SYS_FCNTL}, otherwise: einval,
		cases: []argCase{{why: "known commands only", args: when(in(1, fcntls...)), do: allow}}},
	{why: "asks terminals, pipes and files", calls: []uintptr{unix.SYS_IOCTL}, otherwise: enotty, cases: []argCase{
		{why: "known requests only: every driver has others", args: when(in(1, ioctls...)), do: allow}}},
	{why: "starts processes and threads", calls: []uintptr{unix.SYS_CLONE}, otherwise: allow, cases: []argCase{
		{why: "makes no namespace, in which it would have capabilities", args: when(has(0, newNamespace)),
			do: eperm},
		{why: "starts no siblings: nobody collects them, so dead ones would use up the call's processes",
			args: when(has(0, unix.CLONE_PARENT)), do: eperm}}},
	{why: "controls its own process", calls: []uintptr{unix.SYS_PRCTL}, otherwise: einval,
		cases: []argCase{{why: "known ones only", args: when(in(0, prctls...)), do: allow}}},
	{why: "its own limits", calls: []uintptr{unix.SYS_PRLIMIT64}, otherwise: eperm,
		cases: []argCase{{why: "nobody else's", args: when(is(0, 0)), do: allow}}},
	{why: "sets modes of what is open", calls: []uintptr{unix.SYS_FCHMOD}, otherwise: allow, cases: []argCase{
		{why: "makes no set-id file", args: when(has(1, setID)), do: eperm}, keeperDoes}},
	{why: "sets modes", calls: []uintptr{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2}, otherwise: allow, cases: []argCase{
		{why: "makes no set-id file", args: when(has(2, setID)), do: eperm}, keeperDoes}},
	{why: "sets times", calls: []uintptr{unix.SYS_UTIMENSAT}, otherwise: allow, cases: []argCase{keeperDoes}},
	{why: "makes pipes and files", calls: []uintptr{unix.SYS_MKNODAT}, otherwise: allow, cases: []argCase{
		{why: "makes no set-id file and no device", args: when(has(2, setID|devMode)), do: eperm}}},
	{why: "makes pairs of sockets", calls: []uintptr{unix.SYS_SOCKETPAIR}, otherwise: eafnosupport, cases: []argCase{
		{why: "connected ones of this machine only", args: when(is(0, unix.AF_UNIX), in(1, pairTypes()...)),
			do: allow}}},
	{why: "no socket can be made that reaches anybody", calls: []uintptr{unix.SYS_SOCKET}, otherwise: eafnosupport},
	{why: "sends over a pair", calls: []uintptr{unix.SYS_SENDTO}, otherwise: eperm,
		cases: []argCase{{why: "to no address", args: when(null(4)), do: allow}}},
	{why: "options of a pair", calls: []uintptr{unix.SYS_SETSOCKOPT}, otherwise: enoprotoopt, cases: []argCase{
		{why: "known ones only", args: when(is(1, unix.SOL_SOCKET), in(2, socketOptions...)), do: allow}}},
	{why: "asks for options of a pair", calls: []uintptr{unix.SYS_GETSOCKOPT}, otherwise: enoprotoopt,
		cases: []argCase{
			{why: "known ones only", do: allow, args: when(is(1, unix.SOL_SOCKET), in(2, append([]uint32{unix.SO_TYPE,
				unix.SO_ERROR, unix.SO_ACCEPTCONN, unix.SO_PROTOCOL, unix.SO_DOMAIN,
				unix.SO_PEERCRED, unix.SO_PEERSEC}, socketOptions...)...))}}},
	{why: "its own priority, for itself alone: processes outside have the same user",
		calls: []uintptr{unix.SYS_SETPRIORITY}, otherwise: eperm, cases: []argCase{
			{why: "of the caller", args: when(is(0, unix.PRIO_PROCESS), is(1, 0)), do: allow}}},
	{why: "its own priority of input and output", calls: []uintptr{unix.SYS_IOPRIO_SET}, otherwise: eperm,
		cases: []argCase{
			{why: "of the caller", args: when(is(0, 1), is(1, 0)), do: allow}}},
	{why: "how it is scheduled itself", calls: []uintptr{unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
		unix.SYS_SCHED_SETATTR}, otherwise: eperm, cases: []argCase{
		{why: "the caller", args: when(is(0, 0)), do: allow}}},
	{why: "filters of its own, over ours", calls: []uintptr{unix.SYS_SECCOMP}, otherwise: einval, cases: []argCase{
		{why: "without a process that answers for the kernel, and with the machine's precautions in force",
			args: when(is(0, setFilter), has(1, otherFlags)), do: einval},
		{why: "known operations", args: when(in(0, strictFilter, setFilter, getAction)), do: allow}}},
	{why: "how the machine looks to it", calls: []uintptr{unix.SYS_PERSONALITY}, otherwise: eperm, cases: []argCase{
		{why: "to ask, and Linux itself: others switch protections of memory off", args: when(in(0, 0, 0xffffffff)),
			do: allow}}},
}
