package main

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that nothing in the sandbox may reach, whatever their arguments.
var refused = map[string]uintptr{
	"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT,
	"move_mount": unix.SYS_MOVE_MOUNT,
	"open_tree":  unix.SYS_OPEN_TREE, "open_tree_attr": unix.SYS_OPEN_TREE_ATTR, "fsopen": unix.SYS_FSOPEN,
	"fsconfig": unix.SYS_FSCONFIG,
	"fsmount":  unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK, "mount_setattr": unix.SYS_MOUNT_SETATTR,
	"statmount": unix.SYS_STATMOUNT,
	"listmount": unix.SYS_LISTMOUNT, "listns": 470, "setns": unix.SYS_SETNS, "unshare": unix.SYS_UNSHARE,
	"ptrace":           unix.SYS_PTRACE,
	"process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
	"process_madvise":  unix.SYS_PROCESS_MADVISE,
	"process_mrelease": unix.SYS_PROCESS_MRELEASE, "kcmp": unix.SYS_KCMP, "pidfd_getfd": unix.SYS_PIDFD_GETFD,
	"get_robust_list": unix.SYS_GET_ROBUST_LIST,
	"bpf":             unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
	"keyctl":  unix.SYS_KEYCTL,
	"add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "swapon": unix.SYS_SWAPON,
	"swapoff": unix.SYS_SWAPOFF, "reboot": unix.SYS_REBOOT,
	"sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME, "init_module": unix.SYS_INIT_MODULE,
	"finit_module":  unix.SYS_FINIT_MODULE,
	"delete_module": unix.SYS_DELETE_MODULE, "kexec_load": unix.SYS_KEXEC_LOAD,
	"kexec_file_load": unix.SYS_KEXEC_FILE_LOAD, "acct": unix.SYS_ACCT,
	"quotactl": unix.SYS_QUOTACTL, "quotactl_fd": unix.SYS_QUOTACTL_FD, "syslog": unix.SYS_SYSLOG,
	"vhangup":      unix.SYS_VHANGUP,
	"settimeofday": unix.SYS_SETTIMEOFDAY, "clock_settime": unix.SYS_CLOCK_SETTIME,
	"clock_adjtime": unix.SYS_CLOCK_ADJTIME, "adjtimex": unix.SYS_ADJTIMEX,
	"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT,
	"fanotify_init": unix.SYS_FANOTIFY_INIT,
	"fanotify_mark": unix.SYS_FANOTIFY_MARK, "memfd_create": unix.SYS_MEMFD_CREATE,
	"memfd_secret": unix.SYS_MEMFD_SECRET, "shmget": unix.SYS_SHMGET,
	"shmat": unix.SYS_SHMAT, "shmctl": unix.SYS_SHMCTL, "msgget": unix.SYS_MSGGET, "msgsnd": unix.SYS_MSGSND,
	"msgrcv": unix.SYS_MSGRCV, "msgctl": unix.SYS_MSGCTL,
	"semget": unix.SYS_SEMGET, "semop": unix.SYS_SEMOP, "semctl": unix.SYS_SEMCTL, "mq_open": unix.SYS_MQ_OPEN,
	"mq_unlink":         unix.SYS_MQ_UNLINK,
	"sched_setaffinity": unix.SYS_SCHED_SETAFFINITY, "move_pages": unix.SYS_MOVE_PAGES,
	"migrate_pages": unix.SYS_MIGRATE_PAGES, "mbind": unix.SYS_MBIND,
	"set_mempolicy": unix.SYS_SET_MEMPOLICY, "connect": unix.SYS_CONNECT, "bind": unix.SYS_BIND,
	"listen": unix.SYS_LISTEN, "accept": unix.SYS_ACCEPT,
	"accept4": unix.SYS_ACCEPT4, "clone3": unix.SYS_CLONE3, "openat2": unix.SYS_OPENAT2,
	"io_uring_setup": unix.SYS_IO_URING_SETUP,
	"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
	"io_setup": unix.SYS_IO_SETUP, "io_submit": unix.SYS_IO_SUBMIT,
	"execveat": unix.SYS_EXECVEAT, "vmsplice": unix.SYS_VMSPLICE, "setxattrat": unix.SYS_SETXATTRAT,
	"removexattrat": unix.SYS_REMOVEXATTRAT,
	"getxattrat":    unix.SYS_GETXATTRAT, "listxattrat": unix.SYS_LISTXATTRAT, "file_getattr": unix.SYS_FILE_GETATTR,
	"file_setattr":     unix.SYS_FILE_SETATTR,
	"remap_file_pages": unix.SYS_REMAP_FILE_PAGES, "lsm_set_self_attr": unix.SYS_LSM_SET_SELF_ATTR,
	"nfsservctl":     unix.SYS_NFSSERVCTL,
	"lookup_dcookie": unix.SYS_LOOKUP_DCOOKIE, "setgroups": unix.SYS_SETGROUPS,
}

// refusedCalls calls each with nothing, and with pointers that lead nowhere.
func (w world) refusedCalls() []attempt {
	all := []attempt{}
	for _, set := range []map[string]uintptr{refused, refusedHere} {
		for name, nr := range set {
			all = append(all, attempt{"calls: " + name + " of nothing", call(nr)},
				attempt{"calls: " + name + " of everything",
					call(nr, ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0))})
		}
	}
	for _, nr := range []uintptr{472, 480, 499, 511, 547, 1000, 1 << 20} {
		all = append(all, attempt{fmt.Sprintf("calls: number %d", nr), call(nr)})
	}
	return append(all, attempt{"calls: keys of the session", call(unix.SYS_KEYCTL, 0, ^uintptr(2), 0)},
		attempt{"calls: semaphores", call(unix.SYS_SEMGET, 0, 1, 0o1600)},
		attempt{"calls: the kernel's log", call(unix.SYS_SYSLOG, 3, 0, 0)},
		attempt{"calls: userfaultfd for user memory", call(unix.SYS_USERFAULTFD, 1)})
}

// requests are calls that are a switch over many things: what is dangerous among them. Descriptor -1 is reached if the
// kernel complains about it.
func (w world) requests() []attempt {
	var all []attempt
	for name, request := range map[string]uintptr{"TIOCSTI": unix.TIOCSTI, "TIOCLINUX": 0x541C,
		"TIOCSETD": unix.TIOCSETD, "TIOCSCTTY": unix.TIOCSCTTY,
		"TIOCNOTTY": unix.TIOCNOTTY, "TIOCSPGRP": unix.TIOCSPGRP, "TIOCSWINSZ": unix.TIOCSWINSZ,
		"TIOCCONS": unix.TIOCCONS, "TIOCGPTN": unix.TIOCGPTN,
		"TIOCGPTPEER": unix.TIOCGPTPEER, "TCSETS": unix.TCSETS, "TCSETSF": unix.TCSETSF, "TCXONC": unix.TCXONC,
		"TIOCEXCL": unix.TIOCEXCL, "KDSKBENT": 0x4B47,
		"VT_ACTIVATE": 0x5606, "FS_IOC_SETFLAGS": unix.FS_IOC_SETFLAGS, "FS_IOC_FSSETXATTR": 0x401C5820,
		"FIDEDUPERANGE":             0xC0189436,
		"FS_IOC_ADD_ENCRYPTION_KEY": 0xC0506617, "FS_IOC_ENABLE_VERITY": 0x40806685, "FIFREEZE": 0xC0045877,
		"FITRIM": 0xC0185879, "BLKDISCARD": 0x1277,
		"BTRFS_IOC_SNAP_CREATE": 0x50009401, "EXT4_IOC_MOVE_EXT": 0xC028660F, "SIOCGIFCONF": 0x8912,
		"SIOCSIFFLAGS": 0x8914, "NS_GET_USERNS": 0xB701,
		"NS_GET_PARENT": 0xB702, "PIDFD_GET_NET_NAMESPACE": 0xFF04, "PIDFD_GET_INFO": 0xC040FF0B, "LOOP_SET_FD": 0x4C00,
		"RNDADDENTROPY":       0x40085203,
		"USERFAULTFD_IOC_NEW": 0xAA00, "FUSE_DEV_IOC_CLONE": 0x8004E500, "VHOST_SET_OWNER": 0xAF01,
		"KVM_CREATE_VM": 0xAE01, "DRM_IOCTL_VERSION": 0xC0406400,
		"FIOASYNC": 0x5452, "FIOSETOWN": 0x8901, "SECCOMP_IOCTL_NOTIF_RECV": 0xC0502100, "PAGEMAP_SCAN": 0xC0606610} {
		all = append(all, attempt{"calls: ioctl " + name, call(unix.SYS_IOCTL, ^uintptr(0), request, 0)},
			attempt{"calls: ioctl " + name + " with more bits", call(unix.SYS_IOCTL, ^uintptr(0), 1<<32|request, 0)})
	}
	for name, command := range map[string]int{"F_SETOWN": unix.F_SETOWN, "F_SETSIG": unix.F_SETSIG,
		"F_SETLEASE": unix.F_SETLEASE, "F_NOTIFY": unix.F_NOTIFY,
		"F_SETPIPE_SZ": unix.F_SETPIPE_SZ, "F_SETOWN_EX": unix.F_SETOWN_EX, "F_ADD_SEALS": unix.F_ADD_SEALS,
		"F_SET_RW_HINT": unix.F_SET_RW_HINT} {
		all = append(all, attempt{"calls: fcntl " + name, func() error { return control(command) }})
	}
	for name, a := range map[string][3]uintptr{"speculation": {unix.PR_SET_SPECULATION_CTRL,
		unix.PR_SPEC_INDIRECT_BRANCH, unix.PR_SPEC_ENABLE},
		"ptracer": {unix.PR_SET_PTRACER, ^uintptr(0)}, "memory map": {unix.PR_SET_MM, unix.PR_SET_MM_ARG_START, 4096},
		"ksm":               {unix.PR_SET_MEMORY_MERGE, 1},
		"ambient":           {unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN},
		"securebits":        {unix.PR_SET_SECUREBITS, 1},
		"less no_new_privs": {unix.PR_SET_NO_NEW_PRIVS, 0}, "dispatch": {unix.PR_SET_SYSCALL_USER_DISPATCH, 0},
		"core scheduling": {unix.PR_SCHED_CORE, 1},
		"io flusher":      {unix.PR_SET_IO_FLUSHER, 1}, "counters": {unix.PR_TASK_PERF_EVENTS_DISABLE},
		"timestamps":     {unix.PR_SET_TSC, unix.PR_TSC_ENABLE},
		"machine checks": {unix.PR_MCE_KILL, 0}} {
		all = append(all, attempt{"privileges: prctl " + name,
			func() error { return unix.Prctl(int(a[0]), a[1], a[2], 0, 0) }})
	}
	for bit := range 32 {
		all = append(all, attempt{fmt.Sprintf("calls: personality %#x", 1<<bit), func() error {
			_, _, e := unix.RawSyscall(unix.SYS_PERSONALITY, 1<<bit, 0, 0)
			return orNil(e)
		}})
	}
	for bit := 2; bit < 8; bit++ {
		all = append(all, attempt{fmt.Sprintf("calls: a filter with flag %#x", 1<<bit), allowAll(1 << bit)})
	}
	return all
}

func orNil(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// control changes a descriptor of a file and of a pipe.
func control(command int) error {
	f, err := os.CreateTemp(".", "attack-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	owner := [2]int32{1, int32(os.Getppid())}
	for _, fd := range []int{int(f.Fd()), p[0]} {
		for _, arg := range []uintptr{1, 1 << 20, uintptr(os.Getppid()), uintptr(unsafe.Pointer(&owner))} {
			if _, _, e := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), uintptr(command), arg); e == 0 {
				return nil
			}
		}
	}
	return unix.EPERM
}

// allowAll puts a filter in force that allows everything, which is no attack, with a flag, which is.
func allowAll(flag uintptr) func() error {
	return func() error {
		code := []unix.SockFilter{{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW}}
		prog := unix.SockFprog{Len: 1, Filter: &code[0]}
		_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, 1, flag, uintptr(unsafe.Pointer(&prog)))
		return orNil(e)
	}
}
