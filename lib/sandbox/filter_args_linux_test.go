package sandbox

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// argClass is a class of arguments of a call and what becomes of each, with namespaces and without.
type argClass struct {
	number     uintptr
	args       [6]uint64
	want, bare unix.Errno
}

// high is a bit of the half of an argument that the kernel does not read where it reads an int.
const high = 1 << 32

// argClasses are told here in words of their own: what SECURITY.md promises, not what the table says.
func argClasses() []argClass {
	var out []argClass
	both := func(number uintptr, want unix.Errno, args ...uint64) {
		c := argClass{number: number, want: want, bare: want}
		copy(c.args[:], args)
		out = append(out, c)
	}
	differ := func(number uintptr, want, bare unix.Errno, args ...uint64) {
		both(number, want, args...)
		out[len(out)-1].bare = bare
	}
	const name = 0x1000 // a pointer
	for _, flags := range []uint64{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK} {
		for kind := range uint64(16) {
			for family := range uint64(48) {
				want := unix.EAFNOSUPPORT
				if family == unix.AF_UNIX && (kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET) {
					want = reached
				}
				both(unix.SYS_SOCKETPAIR, want, family, kind|flags)
				both(unix.SYS_SOCKETPAIR, want, family|high, kind|flags|high)
				both(unix.SYS_SOCKET, unix.EAFNOSUPPORT, family, kind|flags)
			}
		}
	}
	both(unix.SYS_SENDTO, reached, 3, name, 1, 0, 0, 0)
	both(unix.SYS_SENDTO, reached, 3, name, 1, 0, 0, 16)
	both(unix.SYS_SENDTO, unix.EPERM, 3, name, 1, 0, name, 16)
	both(unix.SYS_SENDTO, unix.EPERM, 3, name, 1, 0, name, 0)
	both(unix.SYS_SENDTO, unix.EPERM, 3, name, 1, 0, high, 16)
	for mode := range uint64(0o10000) {
		want := unix.Errno(reached)
		if mode&0o6000 != 0 {
			want = unix.EPERM
		}
		if mode&0o1777 != 0 && mode&0o1777 != 0o755 {
			continue
		}
		differ(unix.SYS_FCHMOD, want, keptIf(want), 3, mode)
		differ(unix.SYS_FCHMODAT, want, keptIf(want), 3, name, mode)
		differ(unix.SYS_FCHMODAT2, want, keptIf(want), 3, name, mode, unix.AT_SYMLINK_NOFOLLOW)
		both(unix.SYS_OPENAT, want, 3, name, unix.O_CREAT|unix.O_RDWR, mode)
		both(unix.SYS_OPENAT, want, 3, name, unix.O_TMPFILE|unix.O_RDWR, mode)
		both(unix.SYS_OPENAT, reached, 3, name, unix.O_RDWR, mode)
		both(unix.SYS_MKNODAT, want, 3, name, unix.S_IFIFO|mode)
		both(unix.SYS_MKNODAT, want, 3, name, unix.S_IFREG|mode)
		both(unix.SYS_MKNODAT, unix.EPERM, 3, name, unix.S_IFCHR|mode)
		both(unix.SYS_MKNODAT, unix.EPERM, 3, name, unix.S_IFBLK|mode)
	}
	both(unix.SYS_OPENAT, unix.EPERM, 3, name, 3)
	both(unix.SYS_OPENAT, unix.EPERM, 3, name, 3|unix.O_CLOEXEC|unix.O_NOFOLLOW)
	both(unix.SYS_OPENAT, unix.EPERM, 3, name, 3|unix.O_PATH)
	differ(unix.SYS_UTIMENSAT, reached, unix.ENOSYS, 3, name, 0, 0)
	differ(unix.SYS_UTIMENSAT, reached, unix.ENOSYS, 3, high, 0, 0)
	differ(unix.SYS_UTIMENSAT, reached, unix.ENOSYS, 3, 0, 0, 0)
	for bit := range 64 {
		flag := uint64(1) << bit
		want := unix.Errno(reached)
		if bit < 32 && flag&(newNamespace|unix.CLONE_PARENT) != 0 {
			want = unix.EPERM
		}
		both(unix.SYS_CLONE, want, flag|uint64(unix.SIGCHLD))
		if bit > 1 { // TSYNC, LOG
			both(unix.SYS_SECCOMP, map[bool]unix.Errno{true: unix.EINVAL, false: reached}[bit < 32], 1, flag)
		}
	}
	both(unix.SYS_SECCOMP, reached, 1, 3, name)
	both(unix.SYS_SECCOMP, unix.EINVAL, 3, 0, name)
	for _, who := range []uint64{1, 1000, 1<<32 - 1} {
		both(unix.SYS_PRLIMIT64, unix.EPERM, who)
		both(unix.SYS_SCHED_SETSCHEDULER, unix.EPERM, who)
		both(unix.SYS_SCHED_SETPARAM, unix.EPERM, who)
		both(unix.SYS_SCHED_SETATTR, unix.EPERM, who)
		for which := range uint64(4) {
			both(unix.SYS_SETPRIORITY, unix.EPERM, which, who)
			both(unix.SYS_IOPRIO_SET, unix.EPERM, which, who)
		}
	}
	both(unix.SYS_PRLIMIT64, reached, 0, unix.RLIMIT_NOFILE)
	both(unix.SYS_SETPRIORITY, reached, unix.PRIO_PROCESS, 0, 5)
	both(unix.SYS_SETPRIORITY, unix.EPERM, unix.PRIO_PGRP, 0, 5)
	both(unix.SYS_SETPRIORITY, unix.EPERM, unix.PRIO_USER, 0, 5)
	both(unix.SYS_IOPRIO_SET, reached, 1, 0)
	both(unix.SYS_IOPRIO_SET, unix.EPERM, 3, 0)
	both(unix.SYS_PERSONALITY, reached, 0)
	both(unix.SYS_PERSONALITY, reached, 0xffffffff)
	for bit := range 32 {
		both(unix.SYS_PERSONALITY, unix.EPERM, 1<<bit)
	}
	both(unix.SYS_MADVISE, reached, name, 4096, unix.MADV_DONTNEED)
	for _, advice := range []uint64{12, 100, 101} {
		both(unix.SYS_MADVISE, unix.EINVAL, name, 4096, advice)
	}
	return append(out, controls()...)
}

// keptIf is the verdict without namespaces: the keeper is asked, and here is none.
func keptIf(want unix.Errno) unix.Errno {
	if want == reached {
		return unix.ENOSYS
	}
	return want
}

// controls are the calls that are a switch over many requests: each number near a known one, and random ones.
func controls() []argClass {
	var out []argClass
	one := func(number uintptr, want unix.Errno, args ...uint64) argClass {
		c := argClass{number: number, want: want, bare: want}
		copy(c.args[:], args)
		return c
	}
	random := rand.New(rand.NewPCG(1, 2))
	verdict := func(known []uint32, request uint32, refusal unix.Errno) unix.Errno {
		if slices.Contains(known, request) {
			return reached
		}
		return refusal
	}
	for n := range uint32(6000) {
		request := n
		if n >= 4096 {
			request = random.Uint32()
		}
		out = append(out, one(unix.SYS_FCNTL, verdict(fcntls, request, unix.EINVAL), 3, uint64(request)),
			one(unix.SYS_PRCTL, verdict(prctls, request, unix.EINVAL), uint64(request)))
	}
	for _, base := range slices.Concat(ioctls,
		[]uint32{0x5400, 0x5440, 0x541C, 0x8900, 0x40086602, 0x401c5820, 0xc0189436, 0x4004743d, unix.TIOCSTI}) {
		for d := range uint32(32) {
			out = append(out, one(unix.SYS_IOCTL, verdict(ioctls, base^d, unix.ENOTTY), 0, uint64(base^d)),
				one(unix.SYS_IOCTL, verdict(ioctls, base^d, unix.ENOTTY), 0, uint64(base^d)|high))
		}
	}
	for level := range uint64(300) {
		for option := range uint32(100) {
			set := unix.ENOPROTOOPT
			if level == unix.SOL_SOCKET && slices.Contains(socketOptions, option) {
				set = reached
			}
			out = append(out, one(unix.SYS_SETSOCKOPT, set, 3, level, uint64(option)))
		}
	}
	return out
}

// The kernel's verdict on each class of arguments is what is promised of it, with namespaces and without.
func TestArguments(t *testing.T) {
	classes := append(argClasses(), olderForms()...)
	for _, bare := range []bool{false, true} {
		var probes []probe
		for _, c := range classes {
			probes = append(probes, probe{uint32(c.number), c.args})
		}
		wrong := 0
		for i, got := range judge(t, bare, probes) {
			want := classes[i].want
			if bare {
				want = classes[i].bare
			}
			if got != want && wrong < 20 {
				wrong++
				t.Errorf("bare %v: call %d%#x: %v, want %v", bare, classes[i].number, classes[i].args, got, want)
			}
		}
	}
	covered := map[uintptr]bool{}
	for _, c := range classes {
		covered[c.number] = true
	}
	for _, c := range slices.Concat(checkedCalls, checkedHere) {
		for _, nr := range c.calls {
			if !covered[nr] && nr != unix.SYS_GETSOCKOPT {
				t.Errorf("no class for %q (%d)", c.why, nr)
			}
		}
	}
}

// Another machine's calls kill: the filter looks at the machine before the number.
func TestOtherMachines(t *testing.T) {
	for _, bare := range []bool{false, true} {
		p, err := filter(bare).Assemble()
		if err != nil {
			t.Fatal(err)
		}
		if len(p) > 1200 {
			t.Errorf("bare %v: %d instructions", bare, len(p))
		}
		if p[0].K != 4 || p[2].K != uint32(seccomp.KillProcess) {
			t.Error("the machine is not looked at first")
		}
	}
}
