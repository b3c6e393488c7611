package test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// toucher is a program that tries everything by which one process has an effect on another, on each thread of the
// process that started it, for as long as it is told: those that it finds, and those that it guesses. It is quick: a
// thread may be there but for a moment.
const toucher = `package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

type attempt struct {
	name string
	try  func(process, thread uintptr) bool
}

var (
	word   uint64 = 1
	vector        = struct {
		base   *uint64
		length uint64
	}{&word, 8}
	info       [128]byte
	attributes = [14]uint32{0: 56, 1: 3}
	local      = uintptr(unsafe.Pointer(&vector))
)

func call(number uintptr, args ...uintptr) bool {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno == 0
}

func opens(format string, flags int) func(p, t uintptr) bool {
	return func(p, t uintptr) bool {
		fd, err := syscall.Open(fmt.Sprintf(format, p, t), flags, 0)
		if err != nil {
			return false
		}
		defer syscall.Close(fd)
		if flags == syscall.O_RDONLY {
			_, err = syscall.Read(fd, make([]byte, 64))
		} else {
			_, err = syscall.Write(fd, []byte("1"))
		}
		return err == nil
	}
}

func follows(format string) func(p, t uintptr) bool {
	return func(p, t uintptr) bool { _, err := os.Readlink(fmt.Sprintf(format, p, t)); return err == nil }
}

var attempts = []attempt{
	{"tgkill", func(p, t uintptr) bool { return call(syscall.SYS_TGKILL, p, t, signal) }},
	{"tkill", func(p, t uintptr) bool { return call(syscall.SYS_TKILL, t, signal) }},
	{"kill", func(p, t uintptr) bool { return call(syscall.SYS_KILL, t, signal) }},
	{"rt_tgsigqueueinfo", func(p, t uintptr) bool { return call(tgsigqueue, p, t, signal, uintptr(unsafe.Pointer(&info))) }},
	{"rt_sigqueueinfo", func(p, t uintptr) bool { return call(syscall.SYS_RT_SIGQUEUEINFO, t, signal, uintptr(unsafe.Pointer(&info))) }},
	{"pidfd of a thread", func(p, t uintptr) bool {
		fd, _, errno := syscall.RawSyscall(pidfdOpen, t, syscall.O_EXCL, 0)
		if errno != 0 {
			return false
		}
		defer syscall.Close(int(fd))
		return call(pidfdSignal, fd, signal, 0, 0) || call(pidfdGet, fd, 0, 0)
	}},
	{"ptrace attach", func(p, t uintptr) bool { return call(syscall.SYS_PTRACE, 16, t, 0, 0) }},
	{"ptrace seize", func(p, t uintptr) bool { return call(syscall.SYS_PTRACE, 0x4206, t, 0, 0) }},
	{"process_vm_readv", func(p, t uintptr) bool { return call(readv, t, local, 1, local, 1, 0) }},
	{"process_vm_writev", func(p, t uintptr) bool { return call(writev, t, local, 1, local, 1, 0) }},
	{"setpriority", func(p, t uintptr) bool { return call(syscall.SYS_SETPRIORITY, 0, t, 19) }},
	{"ioprio_set", func(p, t uintptr) bool { return call(syscall.SYS_IOPRIO_SET, 1, t, 0x6000) }},
	{"sched_setaffinity", func(p, t uintptr) bool { return call(syscall.SYS_SCHED_SETAFFINITY, t, 8, uintptr(unsafe.Pointer(&word))) }},
	{"sched_setscheduler", func(p, t uintptr) bool { var zero uint32; return call(syscall.SYS_SCHED_SETSCHEDULER, t, 5, uintptr(unsafe.Pointer(&zero))) }},
	{"sched_setattr", func(p, t uintptr) bool { return call(setattr, t, uintptr(unsafe.Pointer(&attributes)), 0) }},
	{"prlimit", func(p, t uintptr) bool { return call(syscall.SYS_PRLIMIT64, t, 4, local, 0) }},
	{"move_pages", func(p, t uintptr) bool { return call(syscall.SYS_MOVE_PAGES, t, 0, 0, 0, 0, 0) }},
	{"migrate_pages", func(p, t uintptr) bool { return call(syscall.SYS_MIGRATE_PAGES, t, 1, 0, 0) }},
	{"setpgid", func(p, t uintptr) bool { return call(syscall.SYS_SETPGID, t, t) }},
	{"get_robust_list", func(p, t uintptr) bool { return call(syscall.SYS_GET_ROBUST_LIST, t, local, local) }},
	{"kcmp", func(p, t uintptr) bool { return call(kcmp, t, t, 1, 0, 0) }},
	{"read memory", opens("/proc/%d/task/%d/mem", syscall.O_RDONLY)},
	{"write memory", opens("/proc/%d/task/%d/mem", syscall.O_RDWR)},
	{"write memory by the thread's number", opens("/proc/%[2]d/mem", syscall.O_RDWR)},
	{"read environ", opens("/proc/%d/task/%d/environ", syscall.O_RDONLY)},
	{"read maps", opens("/proc/%d/task/%d/maps", syscall.O_RDONLY)},
	{"read syscall", opens("/proc/%d/task/%d/syscall", syscall.O_RDONLY)},
	{"rename", opens("/proc/%d/task/%d/comm", syscall.O_WRONLY)},
	{"oom_score_adj", opens("/proc/%d/task/%d/oom_score_adj", syscall.O_WRONLY)},
	{"timerslack", opens("/proc/%d/task/%d/timerslack_ns", syscall.O_WRONLY)},
	{"follow a descriptor", follows("/proc/%d/task/%d/fd/0")},
	{"follow the root", follows("/proc/%d/task/%d/root")},
	{"follow the directory", follows("/proc/%d/task/%d/cwd")},
}

var signal uintptr

// It says what had an effect. argv: the signal, for how many milliseconds.
func main() {
	n, _ := strconv.Atoi(os.Args[1])
	signal = uintptr(n)
	ms, _ := strconv.Atoi(os.Args[2])
	me, parent := os.Getpid(), os.Getppid()
	found := map[string]int{}
	touch := func(t int) {
		for _, a := range attempts {
			if a.try(uintptr(parent), uintptr(t)) {
				found[a.name]++
			}
		}
	}
	for end, first := time.Now().Add(time.Duration(ms)*time.Millisecond), true; first || time.Now().Before(end); first = false {
		for t := me - 1; t >= parent && t > me-64; t-- {
			touch(t)
		}
		tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(parent) + "/task")
		for _, e := range tasks {
			t, _ := strconv.Atoi(e.Name())
			touch(t)
		}
	}
	for name, times := range found {
		fmt.Fprintf(os.Stderr, "REACHED %s, %d times\n", name, times)
	}
}
`

// numbers are what the package syscall has no names for.
func numbers() string {
	return fmt.Sprintf("\nconst (\n\ttgsigqueue = %d\n\tpidfdOpen = %d\n\tpidfdSignal = %d\n\tpidfdGet = %d\n\treadv = %d\n\twritev = %d\n\tsetattr = %d\n\tkcmp = %d\n)\n",
		unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_GETFD,
		unix.SYS_PROCESS_VM_READV,
		unix.SYS_PROCESS_VM_WRITEV, unix.SYS_SCHED_SETATTR, unix.SYS_KCMP)
}

// No program of a call has any effect on a thread of its interpreter: not on the one that starts it, and at no time.
func TestNoProgramTouchesAThreadOfItsInterpreter(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"native", "landlock"} {
		t.Run(engine, func(t *testing.T) {
			_, run := withHelper(t, engine, toucher+numbers())
			for _, command := range []string{
				strings.Repeat("./helper 0 0; ", 12),
				strings.Repeat("./helper 19 0; ", 4) + strings.Repeat("./helper 9 0; ", 4),
				"./helper 0 0 | ./helper 19 0 | ./helper 9 0; ",
				"./helper 0 300 | for i in 1 2 3 4 5 6 7 8 9; do /bin/true; x=$(/bin/echo $i | /bin/cat); done; ./helper 9 0; ",
				"./helper 9 50 | ./helper 19 50 | for i in 1 2 3 4 5; do ./helper 0 0; done; ",
				"x=$(./helper 9 20); y=$(./helper 0 0 | ./helper 19 20); ",
			} {
				out, err := run(command + "echo alive")
				if err != nil || strings.Contains(out, "REACHED") || !strings.Contains(out, "alive") {
					t.Errorf("%s: %v: %s", command, err, out)
				}
			}
		})
	}
}
