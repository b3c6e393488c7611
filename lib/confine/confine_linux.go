package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// everywhere are the files that each of our programs needs: time zones, and devices without content.
var (
	everywhere = []string{"/usr/share/zoneinfo", "/etc/localtime", "/dev/urandom", "/proc/self",
		"/sys/kernel/mm/transparent_hugepage"}
	devices = []string{"/dev/null"}
)

// MinLandlock is the first version of Landlock that prevents truncating read-only files.
const MinLandlock = 3

// Self gives up everything but the access, for all threads of this process. An error means that this kernel could
// have enforced it and did not: then the program must end. A kernel without Landlock is not an error, but is
// reported.
func Self(a Access) (Report, error) {
	if err := a.make(); err != nil {
		return Report{}, err
	}
	r := Report{}
	if err := a.filter(&r); err != nil {
		return Report{}, fmt.Errorf("confine: %w", err)
	}
	if !a.Debuggable {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return Report{}, fmt.Errorf("confine: close memory: %w", err)
		}
	}
	if !a.Stages {
		if err := a.landlock(&r); err != nil {
			return Report{}, fmt.Errorf("confine: %w", err)
		}
	}
	return r, nil
}

// filter applies the system call filter and sets no_new_privs. Stopping all threads takes longer than everything
// else, so the filter does that: it applies to all threads at once and takes no_new_privs of the calling thread along
// (SECCOMP_FILTER_FLAG_TSYNC). Landlock, which follows, needs no_new_privs on each thread.
func (a Access) filter(r *Report) error {
	p, err := filter(a).Assemble()
	if err != nil {
		r.Lacking = err.Error()
		return giveUpPrivileges(ll.AllThreadsPrctl)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := giveUpPrivileges(thisThread); err != nil {
		return err
	}
	r.Filter = p.Hash()
	return p.Install(true)
}

func thisThread(option int, arg2, arg3, arg4, arg5 uintptr) error {
	return unix.Prctl(option, arg2, arg3, arg4, arg5)
}

func giveUpPrivileges(prctl func(option int, arg2, arg3, arg4, arg5 uintptr) error) error {
	if err := prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return nil
}

// make creates the program's own files: once it is confined, it can only open existing ones.
func (a Access) make() error {
	for _, f := range a.Own {
		file, err := os.OpenFile(f, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
		switch {
		case err == nil:
			file.Close()
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission),
			errors.Is(err, syscall.EROFS):
		default:
			return fmt.Errorf("confine: make %s: %w", filepath.Base(f), err)
		}
	}
	return nil
}

func (a Access) landlock(r *Report) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < MinLandlock {
		r.Lacking = "this kernel has no Landlock, or one that is too old: files are not confined"
		return nil
	}
	rules, err := NewRules(abi)
	if err != nil {
		return err
	}
	defer rules.Close()
	for _, g := range []struct {
		paths  []string
		rights uint64
	}{{everywhere, ReadFiles &^ ll.AccessFSExecute}, {devices, WriteFiles&^ll.AccessFSExecute | rules.talk()},
		{a.Read, ReadFiles &^ ll.AccessFSExecute}, {a.List, ll.AccessFSReadDir},
		{a.Own, WriteFiles &^ ll.AccessFSExecute}, {a.Write, WriteFiles &^ ll.AccessFSExecute},
		{a.Names, ll.AccessFSMakeReg | ll.AccessFSRemoveFile | ll.AccessFSReadDir}} {
		for _, p := range g.paths {
			if err := rules.Allow(p, g.rights); err != nil {
				return err
			}
		}
	}
	if a.Terminal != "" {
		if err := errors.Join(rules.Allow("/dev/tty", WriteFiles&^ll.AccessFSExecute|rules.talk()),
			rules.Allow(a.Terminal, ll.AccessFSReadFile)); err != nil {
			return err
		}
	}
	if a.Exec {
		if err := rules.Allow("/", ll.AccessFSExecute|ll.AccessFSReadFile|ll.AccessFSReadDir); err != nil {
			return err
		}
	}
	if a.Network {
		if err := rules.Connect(a.Connect); err != nil {
			return err
		}
	}
	r.LandlockABI = abi
	return rules.Restrict(true)
}

// hazards are system calls that none of our programs needs.
var hazards = []uintptr{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SYSLOG,
	unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_NFSSERVCTL, unix.SYS_MEMFD_SECRET}

// builders are system calls that only claw-exec's sandbox needs.
var builders = []uintptr{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME}

const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// filter is the seccomp filter for an access.
func filter(a Access) seccomp.Filter {
	deny := seccomp.Errno(uint16(unix.EPERM))
	arg := func(i int, op seccomp.Op, v uint32) []seccomp.Arg { return []seccomp.Arg{{Index: i, Op: op, Value: v}} }
	rules := []seccomp.Rule{{Syscalls: hazards, Action: deny},
		{Syscalls: []uintptr{unix.SYS_IOCTL}, Args: arg(1, seccomp.Equal, unix.TIOCSTI), Action: deny},
		{Syscalls: []uintptr{unix.SYS_IOCTL}, Args: arg(1, seccomp.Equal, 0x541C), Action: deny}} // TIOCLINUX
	if a.Stages {
		return seccomp.Filter{Default: seccomp.Allow, Rules: rules}
	}
	rules = append(rules, seccomp.Rule{Syscalls: builders, Action: deny},
		seccomp.Rule{Syscalls: []uintptr{unix.SYS_CLONE3}, Action: seccomp.Errno(uint16(unix.ENOSYS))},
		seccomp.Rule{Syscalls: []uintptr{unix.SYS_CLONE}, Args: arg(0, seccomp.MaskSet, newNamespace), Action: deny})
	if !a.Exec {
		rules = append(rules, seccomp.Rule{Syscalls: []uintptr{unix.SYS_EXECVE, unix.SYS_EXECVEAT}, Action: deny},
			seccomp.Rule{Syscalls: []uintptr{unix.SYS_CLONE}, Args: arg(0, seccomp.MaskSet, unix.CLONE_THREAD),
				Action: seccomp.Allow},
			seccomp.Rule{Syscalls: append([]uintptr{unix.SYS_CLONE}, forks...), Action: deny})
	}
	none := seccomp.Errno(uint16(unix.EAFNOSUPPORT))
	if a.Network {
		rules = append(rules, unusual(deny)...)
		rules = append(rules, seccomp.Rule{Syscalls: []uintptr{unix.SYS_SOCKET},
			Args: arg(0, seccomp.Equal, unix.AF_INET), Action: seccomp.Allow},
			seccomp.Rule{Syscalls: []uintptr{unix.SYS_SOCKET}, Args: arg(0, seccomp.Equal, unix.AF_INET6),
				Action: seccomp.Allow})
	}
	rules = append(rules, seccomp.Rule{Syscalls: []uintptr{unix.SYS_SOCKET}, Action: none})
	return seccomp.Filter{Default: seccomp.Allow, Rules: rules}
}

// unusual rejects sockets that are neither TCP nor UDP: Landlock's rules about ports do not cover multipath TCP, nor
// raw sockets.
func unusual(deny seccomp.Action) []seccomp.Rule {
	var types, protocols []seccomp.Arg
	for _, t := range []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
		for _, flags := range []uint32{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC |
			unix.SOCK_NONBLOCK} {
			types = append(types, seccomp.Arg{Index: 1, Op: seccomp.NotEqual, Value: t | flags})
		}
	}
	for _, p := range []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		protocols = append(protocols, seccomp.Arg{Index: 2, Op: seccomp.NotEqual, Value: p})
	}
	socket := []uintptr{unix.SYS_SOCKET}
	return []seccomp.Rule{{Syscalls: socket, Args: types, Action: deny},
		{Syscalls: socket, Args: protocols, Action: deny}}
}
