package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fork starts a program that gives up rights itself, between vfork(2) and execve(2). No thread of ours is ever in its
// domain then, so it can signal none of them. os/exec has no place for that, and a program of ours that would do it and
// become the other one costs five times as much.
type fork struct {
	path       *byte
	argv, envv []*byte
	dir        *byte
	files      [3]int
	setsid     bool
	ruleset    int // Landlock's; -1 for none
	limits     []limit
	last       last
	failed     syscall.Errno // why it could not become the program: it shares our memory, and we wait until then
}

// last is what makes a program the last that it is itself: a filter of system calls in which no process starts and none
// becomes another program, but by the word that execve(2) does not look at. The zero value is none.
type last struct {
	filter *unix.SockFprog
	word   uintptr
}

// limit is one that the program has and we do not.
type limit struct {
	resource int
	value    syscall.Rlimit
}

// The runtime lends these to those who fork (go.dev/issue/67401): they hold back signals, and refuse what may not
// happen between.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// spawn starts the command as os/exec would, with a ruleset and limits of its own, and what may make it the last. Its
// standard files have to be files.
func spawn(cmd *exec.Cmd, ruleset int, limits []limit, final last) error {
	f := &fork{setsid: cmd.SysProcAttr != nil && cmd.SysProcAttr.Setsid, ruleset: ruleset, limits: limits, last: final}
	if err := f.words(cmd); err != nil {
		return err
	}
	opened, err := f.standard(cmd)
	defer closeAll(opened)
	if err != nil {
		return err
	}
	pid, err := f.start()
	runtime.KeepAlive(cmd) // whose files must stay open
	if err != nil {
		return &os.PathError{Op: "fork/exec", Path: cmd.Path, Err: err}
	}
	cmd.Process, err = os.FindProcess(pid)
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// words takes over what the kernel is told in words.
func (f *fork) words(cmd *exec.Cmd) (err error) {
	if f.path, err = syscall.BytePtrFromString(cmd.Path); err != nil {
		return err
	}
	if f.argv, err = syscall.SlicePtrFromStrings(cmd.Args); err != nil {
		return err
	}
	if slices.ContainsFunc(cmd.Env, func(v string) bool { return strings.Contains(v, "\x00") }) {
		return syscall.EINVAL
	}
	if f.envv, err = syscall.SlicePtrFromStrings(cmd.Environ()); err != nil { // of which the last of a name counts
		return err
	}
	if cmd.Dir != "" {
		f.dir, err = syscall.BytePtrFromString(cmd.Dir)
	}
	return err
}

// errNoFile means that a program was to be given what is no file.
var errNoFile = errors.New("a standard file of a program is not a file")

// standard finds the standard files; what it has opened is to be closed after the start. They are copied above all that
// the program gets, since its own are put in place one after the other.
func (f *fork) standard(cmd *exec.Cmd) (opened []*os.File, err error) {
	for i, v := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		file, ok := v.(*os.File)
		switch {
		case v == nil:
			if file, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return opened, err
			}
			opened = append(opened, file)
		case !ok || file == nil:
			return opened, errNoFile
		}
		f.files[i] = int(file.Fd())
		if f.files[i] > 2 {
			continue
		}
		fd, err := unix.FcntlInt(uintptr(f.files[i]), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return opened, err
		}
		opened = append(opened, os.NewFile(uintptr(fd), file.Name()))
		f.files[i] = fd
	}
	return opened, nil
}

// start forks, and returns when the program runs or could not be run: until then the child has our memory, and this
// thread waits.
func (f *fork) start() (pid int, err error) {
	syscall.ForkLock.Lock() // no descriptor without close-on-exec is open now
	child := f.child()
	afterFork()
	syscall.ForkLock.Unlock()
	if child > ^uintptr(lastError) {
		return 0, syscall.Errno(-child)
	}
	if f.failed == 0 {
		return int(child), nil
	}
	for {
		if _, err := unix.Wait4(int(child), nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return 0, f.failed
		}
	}
}

// vfork is clone(2) without arguments but the flags: CLONE_VM and CLONE_VFORK are allowed. It must be called where the
// frame of its caller is left in the parent at once, and in the child never.
//
//go:noescape
func vfork(flags uintptr) (result uintptr)

// lastError is the largest number of an error: a system call returns it below zero.
const lastError = 4095

// child is what happens in the child: system calls alone. It has but the thread that forked and shares our memory, so
// that nothing may be allocated, no lock taken, no stack grown and nothing of ours changed. In the parent, its frame is
// left at once: the child has used it.
//
//go:noinline
//go:norace
//go:nocheckptr
func (f *fork) child() uintptr {
	var i int
	var errno syscall.Errno
	beforeFork()
	pid := vfork(uintptr(syscall.SIGCHLD) | unix.CLONE_VM | unix.CLONE_VFORK)
	if pid != 0 {
		return pid
	}
	if f.setsid {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); errno != 0 {
			goto failed
		}
	}
	afterForkInChild()
	if f.ruleset >= 0 {
		if _, _, errno = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(f.ruleset), 0, 0); errno != 0 {
			goto failed
		}
	}
	if f.dir != nil {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(f.dir)), 0, 0); errno != 0 {
			goto failed
		}
	}
	for i = 0; i < len(f.files); i++ {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_DUP3, uintptr(f.files[i]), uintptr(i), 0); errno != 0 {
			goto failed
		}
	}
	for i = 0; i < len(f.limits); i++ {
		_, _, errno = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(f.limits[i].resource),
			uintptr(unsafe.Pointer(&f.limits[i].value)), 0, 0, 0)
		if errno != 0 {
			goto failed
		}
	}
	if f.last.filter != nil {
		_, _, errno = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
			uintptr(unsafe.Pointer(f.last.filter)))
		if errno != 0 {
			goto failed
		}
	}
	_, _, errno = syscall.RawSyscall6(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(f.path)),
		uintptr(unsafe.Pointer(&f.argv[0])),
		uintptr(unsafe.Pointer(&f.envv[0])), f.last.word, 0, 0)
failed:
	f.failed = errno
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
