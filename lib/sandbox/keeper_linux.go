package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"clawsh/lib/place"
	"clawsh/lib/process"
	"clawsh/lib/seccomp"
)

// Landlock does not govern modes, owners and times. Where nothing else does, the filter hands the calls that change
// them to the keeper, which is outside: it looks the file up itself, and changes it if it lies where the program may
// write. Nothing of the caller's memory is read twice, and the file that was looked at is the one that is changed.

// keeperFD is the end of a pair by which the inner stage gives the keeper the listener of its filter.
const keeperFD = 5

// separator is between paths: none has it.
const separator = "\x00"

// listen puts the filter in force and hands its listener to the keeper.
func listen(p seccomp.Program, write []string) error {
	fd, err := p.Listen()
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(keeperFD, []byte(strings.Join(write, separator)), unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("hand over the listener of the filter: %w", err)
	}
	return nil
}

// keep runs the inner stage as a child, answers the calls that its filter hands over, and ends whatever is left when
// that has ended: it is the one that orphans are given to. Killed, it takes the program with it.
func keep(read func(string) ([]byte, error)) error {
	if err := mayInspect(read, capable(unix.CAP_SYS_PTRACE)); err != nil {
		return err
	}
	if err := process.Reap(); err != nil {
		return err
	}
	runtime.LockOSThread()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a pair of sockets: %w", err)
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"claw-exec", confineWord, stageInner},
		&syscall.ProcAttr{Dir: "/", Env: os.Environ(),
			Files: []uintptr{0, 1, 2, orderFD, statusFD, uintptr(pair[1])},
			Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		return err
	}
	for _, fd := range []int{0, 1, 2, orderFD, statusFD, pair[1]} {
		unix.Close(fd)
	}
	go answer(pair[0])
	code := await(pid)
	process.KillDescendants(os.Getpid())
	syscall.Exit(code)
	return nil
}

// ptraceScope is where Yama says who may look into whose memory. A kernel without it has no such file.
const ptraceScope = "/proc/sys/kernel/yama/ptrace_scope"

// mayInspect says why the keeper could not read the names in the calls that it is to answer: every one of them would
// fail then, and nobody would say why.
func mayInspect(read func(string) ([]byte, error), capable bool) error {
	b, err := read(ptraceScope)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find out whether programs may be looked into: %w", err)
	}
	scope, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return fmt.Errorf("find out whether programs may be looked into: %s: %w", ptraceScope, err)
	}
	if scope <= 1 || scope == 2 && capable {
		return nil
	}
	return fmt.Errorf("no program could change modes or times, since this host lets us look into none (kernel.yama.ptrace_scope is %d, "+
		"at most 1 will do)", scope)
}

// capable tells whether this process has a capability.
func capable(c uint) bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&head, &data[0]) == nil && data[c/32].Effective&(1<<(c%32)) != 0
}

// await waits until the program has ended, and collects what else ends meanwhile. Other threads run on.
func await(pid int) int {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1
		case got != pid:
		case ws.Signaled():
			return 128 + int(ws.Signal())
		case ws.Exited():
			return ws.ExitStatus()
		}
	}
}

// handed is a call that waits for an answer (struct seccomp_notif), answered the answer (struct seccomp_notif_resp).
type handed struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answered struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// Requests of the listener.
const (
	notifyReceive = 0xC0502100
	notifySend    = 0xC0182101
	notifyValid   = 0x40082102
)

// answer takes the listener and answers calls until there is nobody left to call. A call that nobody answers fails
// (ENOSYS).
func answer(pair int) {
	keeper, err := newKeeper(pair)
	if err != nil {
		return
	}
	for {
		ready := []unix.PollFd{{Fd: int32(keeper.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) ||
			ready[0].Revents&unix.POLLHUP != 0 {
			return
		}
		var c handed
		switch err := keeper.control(notifyReceive, unsafe.Pointer(&c)); err {
		case 0:
		case unix.EINTR, unix.ENOENT: // the caller was interrupted
			continue
		default:
			return
		}
		r := answered{id: c.id, errno: -int32(keeper.do(&c))}
		keeper.control(notifySend, unsafe.Pointer(&r))
	}
}

// keeper changes metadata for a program.
type keeper struct {
	listener int
	places   []string // directories that the program may write
}

func newKeeper(pair int) (*keeper, error) {
	defer unix.Close(pair)
	text, oob := make([]byte, 1<<16), make([]byte, unix.CmsgSpace(4))
	n, rights, _, _, err := unix.Recvmsg(pair, text, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:rights])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, unix.EBADMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	k := &keeper{listener: fds[0]}
	for p := range strings.SplitSeq(string(text[:n]), separator) {
		// A place that is no directory is a device: its mode is nobody's to change.
		if real, err := filepath.EvalSymlinks(p); err == nil {
			if info, err := os.Stat(real); err == nil && info.IsDir() {
				k.places = append(k.places, real)
			}
		}
	}
	return k, nil
}

func (k *keeper) control(request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.listener), request, uintptr(arg))
	return errno
}

// valid tells that the caller still waits: what was read of it is its own, and not of another process with its number.
func (k *keeper) valid(c *handed) bool { return k.control(notifyValid, unsafe.Pointer(&c.id)) == 0 }

// do answers one call.
func (k *keeper) do(c *handed) unix.Errno {
	i := slices.IndexFunc(changes, func(m change) bool { return m.number == uintptr(c.nr) })
	if i < 0 {
		return unix.ENOSYS
	}
	m := changes[i]
	times, errno := m.readTimes(c)
	if errno != 0 {
		return errno
	}
	fd, errno := k.find(c, m)
	if errno != 0 {
		return errno
	}
	defer unix.Close(fd)
	if !k.valid(c) {
		return unix.ESRCH
	}
	if errno := k.mayChange(fd); errno != 0 {
		return errno
	}
	return m.apply(fd, c, times)
}

// mayChange tells whether a file lies where the program may write, and is the user's own: as root we could change
// others.
func (k *keeper) mayChange(fd int) unix.Errno {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || !slices.ContainsFunc(k.places, func(p string) bool { return place.Within(p, path) }) {
		return unix.EPERM
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || int(st.Uid) != os.Geteuid() {
		return unix.EPERM
	}
	return 0
}
