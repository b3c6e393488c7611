package sandbox

import "golang.org/x/sys/unix"

// olderForms are classes of arguments of calls that this machine alone has.
func olderForms() []argClass {
	var out []argClass
	for mode := range uint64(0o10000) {
		if mode&0o1777 != 0 && mode&0o1777 != 0o755 {
			continue
		}
		want := unix.Errno(reached)
		if mode&0o6000 != 0 {
			want = unix.EPERM
		}
		out = append(out, argClass{unix.SYS_CHMOD, [6]uint64{1, mode}, want, keptIf(want)},
			argClass{unix.SYS_CREAT, [6]uint64{1, mode}, want, want},
			argClass{unix.SYS_OPEN, [6]uint64{1, unix.O_CREAT | 1, mode}, want, want},
			argClass{unix.SYS_OPEN, [6]uint64{1, 1, mode}, reached, reached},
			argClass{unix.SYS_MKNOD, [6]uint64{1, unix.S_IFIFO | mode}, want, want},
			argClass{unix.SYS_MKNOD, [6]uint64{1, unix.S_IFCHR | mode}, unix.EPERM, unix.EPERM})
	}
	out = append(out, argClass{unix.SYS_OPEN, [6]uint64{1, 3}, unix.EPERM, unix.EPERM})
	for _, code := range []uint64{0, 0x1001, 0x1002, 0x1003, 0x1004, 0x1005, 0x1011, 0x1012, 0x1021, 0x1022, 0x1023,
		0x1024, 0x2003, 0x3001, 0x4001, 0x5001} {
		want := unix.Errno(reached)
		switch code {
		case 0, 0x1005, 0x1011, 0x1012, 0x1024, 0x2003, 0x4001, 0x5001:
			want = unix.EINVAL
		}
		out = append(out, argClass{unix.SYS_ARCH_PRCTL, [6]uint64{code}, want, want})
	}
	return out
}
