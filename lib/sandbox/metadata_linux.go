package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// change is a system call that changes metadata: where its arguments are. -1 is for what it does not have.
type change struct {
	number         uintptr
	dir, path      int // the directory's descriptor and the name; without a name the descriptor is of the file itself
	mode, owner    int // the owner is followed by the group
	times          int
	unit           int // of the times: nanoseconds, microseconds or seconds beside whole seconds
	flags          int
	noFollow, null bool // it follows no link; a name may be missing
}

const none = -1

// Units of times.
const (
	nanoseconds = iota
	microseconds
	wholeSeconds
)

// changes are the calls of every machine.
var changes = append([]change{
	{number: unix.SYS_FCHMOD, dir: 0, path: none, mode: 1, owner: none, times: none, flags: none},
	{number: unix.SYS_FCHMODAT, dir: 0, path: 1, mode: 2, owner: none, times: none, flags: none},
	{number: unix.SYS_FCHMODAT2, dir: 0, path: 1, mode: 2, owner: none, times: none, flags: 3},
	{number: unix.SYS_FCHOWN, dir: 0, path: none, mode: none, owner: 1, times: none, flags: none},
	{number: unix.SYS_FCHOWNAT, dir: 0, path: 1, mode: none, owner: 2, times: none, flags: 4},
	{number: unix.SYS_UTIMENSAT, dir: 0, path: 1, mode: none, owner: none, times: 2, flags: 3, null: true},
}, changesHere...)

// find opens the file that a call is about, for nothing but to change it.
func (k *keeper) find(c *handed, m change) (int, unix.Errno) {
	self := "/proc/" + strconv.Itoa(int(c.pid)) + "/"
	flags, name := uint64(0), ""
	if m.flags != none {
		flags = c.args[m.flags]
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return -1, unix.EINVAL
	}
	byDescriptor := m.path == none || m.null && c.args[m.path] == 0
	if !byDescriptor {
		var errno unix.Errno
		if name, errno = text(c, c.args[m.path]); errno != 0 {
			return -1, errno
		}
		if name == "" {
			if flags&unix.AT_EMPTY_PATH == 0 {
				return -1, unix.ENOENT
			}
			byDescriptor = true
		}
	}
	// Libraries set modes of what is open by these names, which lead elsewhere for us.
	if n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(name, "/proc/self/fd/"), "/dev/fd/"), 10,
		31); err == nil &&
		strings.HasPrefix(name, "/") && flags&unix.AT_SYMLINK_NOFOLLOW == 0 && !m.noFollow {
		return openPath(self+"fd/"+strconv.FormatUint(n, 10), unix.EBADF)
	}
	start := self + "cwd"
	if m.dir != none && int32(c.args[m.dir]) != unix.AT_FDCWD {
		start = self + "fd/" + strconv.Itoa(int(int32(c.args[m.dir])))
	}
	base, errno := openPath(start, unix.EBADF)
	if errno != 0 || byDescriptor {
		return base, errno
	}
	defer unix.Close(base)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if m.noFollow || flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(base, name, &how)
	if err != nil {
		return -1, errnoOf(err, unix.EPERM)
	}
	return fd, 0
}

// openPath opens what a link of /proc leads to, for nothing but to name it.
func openPath(path string, otherwise unix.Errno) (int, unix.Errno) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, errnoOf(err, otherwise)
	}
	return fd, 0
}

func errnoOf(err error, otherwise unix.Errno) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return otherwise
}

// text reads a name.
func text(c *handed, at uint64) (string, unix.Errno) {
	b, errno := memory(c, at, unix.PathMax)
	if errno != 0 {
		return "", errno
	}
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return "", unix.ENAMETOOLONG
	}
	return string(b[:end]), 0
}

// memory reads what the caller's memory holds at an address, at most n bytes.
func memory(c *handed, at uint64, n int) ([]byte, unix.Errno) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(int(c.pid))+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unix.EPERM
	}
	defer unix.Close(fd)
	b := make([]byte, n)
	got, err := unix.Pread(fd, b, int64(at))
	if err != nil || got == 0 {
		return nil, unix.EFAULT
	}
	return b[:got], 0
}

// readTimes reads the times of a call: nil is the present.
func (m change) readTimes(c *handed) ([]unix.Timespec, unix.Errno) {
	if m.times == none || c.args[m.times] == 0 {
		return nil, 0
	}
	size := 32
	if m.unit == wholeSeconds {
		size = 16
	}
	b, errno := memory(c, c.args[m.times], size)
	if errno != 0 || len(b) < size {
		return nil, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
	switch m.unit {
	case wholeSeconds:
		return []unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, 0
	case microseconds:
		if uint64(word(1)) >= 1e6 || uint64(word(3)) >= 1e6 {
			return nil, unix.EINVAL
		}
		return []unix.Timespec{{Sec: word(0), Nsec: word(1) * 1000}, {Sec: word(2), Nsec: word(3) * 1000}}, 0
	}
	return []unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}, 0
}

// apply changes what the descriptor stands for.
func (m change) apply(fd int, c *handed, times []unix.Timespec) unix.Errno {
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	var err error
	switch {
	case m.mode != none:
		mode := uint32(c.args[m.mode]) & 0o7777
		if mode&setID != 0 {
			return unix.EPERM
		}
		err = unix.Chmod(path, mode)
	case m.owner != none:
		err = sameOwner(fd, int32(c.args[m.owner]), int32(c.args[m.owner+1]))
	default:
		if times == nil {
			times = []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
		}
		err = unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0)
	}
	if err != nil {
		return errnoOf(err, unix.EPERM)
	}
	return 0
}

// sameOwner takes a change of owner that changes nothing: whoever has no capability can do no other, but for groups.
func sameOwner(fd int, uid, gid int32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uid != -1 && uint32(uid) != st.Uid || gid != -1 && uint32(gid) != st.Gid {
		return unix.EPERM
	}
	return nil
}
