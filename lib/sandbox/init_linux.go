package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"clawsh/lib/record"
)

// Words by which claw-exec starts itself again as a part of a sandbox. They are no interface: what they do is told by
// descriptors that only we pass.
const (
	// the first process of new namespaces: builds the view, starts the program, collects orphans
	stageInit   = "--stage=init"
	stageInner  = "--stage=inner"  // inside a view that is there already: takes the rest away and becomes the program
	stageKeeper = "--stage=keeper" // without namespaces: starts the inner stage and ends what is left of it
)

// Enter takes over a process that was started as a part of a sandbox, and does not return then; else it returns at
// once. It belongs at the very start of claw-exec's main.
func Enter(args []string) {
	if len(args) != 3 || args[1] != confineWord ||
		!slices.Contains([]string{stageInit, stageInner, stageKeeper}, args[2]) {
		return
	}
	// From here on everything happens on one thread, and the collector would only make others.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(statusFD)
	if err := enter(args[2]); err != nil {
		report(statusSetup, err.Error())
	}
	syscall.Exit(1)
}

func enter(stage string) error {
	if stage == stageKeeper {
		return keep(os.ReadFile)
	}
	o, err := readOrder()
	if err != nil {
		return err
	}
	if err := unix.CloseRange(statusFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close what is open: %w", err)
	}
	if stage == stageInner {
		return become(o)
	}
	if os.Getpid() != 1 {
		return errors.New("the first process of a sandbox is not the first of its namespace")
	}
	return begin(o)
}

func readOrder() (*order, error) {
	f := os.NewFile(orderFD, "order")
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read what to set up: %w", err)
	}
	o := &order{}
	if err := record.Decode(b, o); err != nil {
		return nil, fmt.Errorf("read what to set up: %w", err)
	}
	if len(o.Argv) == 0 {
		return nil, errors.New("there is no program to run")
	}
	return o, nil
}

func report(tag byte, text string) {
	b := append([]byte{tag}, text...)
	for len(b) > 0 {
		n, err := unix.Write(statusFD, b)
		if err != nil {
			return
		}
		b = b[n:]
	}
}

// become takes away the rest and becomes the program.
func become(o *order) error {
	if err := unix.Chdir(o.Dir); err != nil {
		return fmt.Errorf("enter %s: %w", o.Dir, err)
	}
	if err := lockdown(o); err != nil {
		return err
	}
	report(statusReady, "")
	err := syscall.Exec(o.Argv[0], o.Argv, o.Env)
	execFailed(err)
	return nil
}

func execFailed(err error) {
	var no syscall.Errno
	if !errors.As(err, &no) {
		no = syscall.EINVAL
	}
	report(statusExec, strconv.Itoa(int(no)))
}

// begin builds the view, starts the program as a child with nothing left, and stays to collect what ends.
func begin(o *order) error {
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	if err := build(o); err != nil {
		return err
	}
	// Who looks into this process would see what it was before.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide memory: %w", err)
	}
	if err := lockdown(o); err != nil {
		return err
	}
	report(statusReady, "")
	pid, err := syscall.ForkExec(o.Argv[0], o.Argv,
		&syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		execFailed(err)
		return nil
	}
	for fd := range 3 { // the program's end must be the end of its output
		unix.Close(fd)
	}
	report(statusExit, strconv.Itoa(collect(pid)))
	syscall.Exit(0)
	return nil
}

// collect waits until the program has ended, and collects what else ends meanwhile. The raw call keeps the runtime from
// starting a thread for it, which the limit of tasks may not allow.
func collect(pid int) int {
	for {
		var ws syscall.WaitStatus
		got, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&ws)), 0, 0, 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return 1
		case int(got) != pid:
		case ws.Signaled():
			return 128 + int(ws.Signal())
		case ws.Exited():
			return ws.ExitStatus()
		}
	}
}

// noCapabilities gives up all capabilities of all threads. It calls psx, since syscall.AllThreadsSyscall refuses in a
// build with cgo, as the race detector is.
func noCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}
