package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/process"
)

// userTasks counts the processes and threads that the user has: where a sandbox has no namespace of its own, the kernel
// counts them all.
func userTasks() int {
	n, uid := 0, uint32(os.Getuid())
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		name := "/proc/" + e.Name()
		if e.Name()[0] < '0' || e.Name()[0] > '9' {
			continue
		}
		if info, err := os.Stat(name); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid {
				threads, _ := os.ReadDir(name + "/task")
				n += max(len(threads), 1)
			}
		}
	}
	return n
}

// launch is a process that sets up a sandbox, as the supervisor sees it.
type launch struct {
	cmd    *exec.Cmd
	order  *order
	stage  string
	limits Limits
	// subreap tells that nothing but us keeps the program's processes together.
	subreap bool
}

// newLaunch prepares it: our own executable again, told what to be by its arguments.
func newLaunch(stage string, o *order, s Streams, limits Limits) *launch {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"claw-exec", confineWord, stage}
	cmd.Env = []string{"GOMAXPROCS=1"} // it has one thing to do, and the fewer threads the better
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	cmd.WaitDelay = killGrace
	if o.Own {
		limits.MemoryBytes += interpreterOverhead
	}
	return &launch{cmd: cmd, order: o, stage: stage, limits: limits}
}

// run starts the process, tells it what to do and waits for its end. When ctx ends, or a limit is passed that only we
// can see, everything in the sandbox is killed.
func (l *launch) run(ctx context.Context) (Exit, error) {
	told, err := l.start()
	if err != nil {
		return Exit{}, err
	}
	killed := make(chan string, 1)
	pid := l.cmd.Process.Pid
	watched := watch(ctx, pid, l.limits.MemoryBytes, func(why string) {
		killed <- why
		l.kill(pid)
	})
	end := make(chan status, 1)
	go func() {
		defer told.Close()
		end <- readStatus(told)
	}()
	waitErr := l.cmd.Wait()
	watched()
	s := <-end
	exit := Exit{Code: exitCode(l.cmd.ProcessState)}
	select {
	case exit.Killed = <-killed:
		return exit, nil
	default:
	}
	return l.outcome(s, exit, waitErr)
}

func (l *launch) kill(pid int) {
	if l.subreap {
		process.KillTree(pid)
	}
	l.cmd.Process.Kill()
}

func (l *launch) outcome(s status, exit Exit, waitErr error) (Exit, error) {
	switch s.tag {
	case statusSetup:
		return Exit{}, setupError{errors.New(s.text)}
	case statusExec:
		return Exit{Code: -1}, syscall.Errno(s.number())
	case statusExit:
		exit.Code = s.number()
		return exit, nil
	}
	if !s.ready {
		return Exit{}, setupError{fmt.Errorf("it exited before the program was started: %s", ended(l.cmd.ProcessState))}
	}
	if l.stage == stageInit {
		exit.Killed = "the sandbox ended early: " + ended(l.cmd.ProcessState)
		if exit.Code == 0 {
			exit.Code = 1
		}
		return exit, nil
	}
	var failed *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &failed) && !errors.Is(waitErr, exec.ErrWaitDelay) {
		return exit, waitErr
	}
	return exit, nil
}

func ended(state *os.ProcessState) string {
	if state == nil {
		return "it has exited"
	}
	return state.String()
}

// start starts the process and writes its order. What it tells comes from the file that is returned.
func (l *launch) start() (told *os.File, err error) {
	order, err := l.order.encode()
	if err != nil {
		return nil, err
	}
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	defer orderR.Close()
	defer orderW.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	defer statusW.Close()
	l.cmd.ExtraFiles = []*os.File{orderR, statusW} // descriptors 3 and 4
	if err := process.Launch(l.cmd); err != nil {
		statusR.Close()
		return nil, setupError{explain(err)}
	}
	orderR.Close()
	statusW.Close() // what it tells ends with it alone
	if _, err := orderW.Write(order); err != nil {
		l.cmd.Process.Kill()
		l.cmd.Wait()
		why := readStatus(statusR)
		statusR.Close()
		return nil, setupError{fmt.Errorf("it exited before it received its task: %s", strings.TrimSpace(why.text))}
	}
	return statusR, nil
}

// explain says what the errors of a start with namespaces mean.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return fmt.Errorf("user namespaces are disabled here (user.max_user_namespaces): %w", err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("this host does not allow user namespaces, or clawsh itself runs in a sandbox: %w", err)
	}
	return err
}

func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// How often memory is looked at.
const watchEvery = 20 * time.Millisecond

// watch calls stop when ctx ends, or when the process and all below it take more memory than they may. The function
// that it returns ends the watch; stop is not running any more then.
func watch(ctx context.Context, pid int, memoryBytes int64, stop func(why string)) func() {
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				stop(context.Cause(ctx).Error())
				return
			case <-tick.C:
				if used := treeMemory(pid); used > memoryBytes {
					stop(fmt.Sprintf("it used %d MiB of memory, more than the allowed %d MiB", used>>20,
						memoryBytes>>20))
					return
				}
			}
		}
	}()
	return func() {
		close(done)
		<-finished
	}
}

// kernelRelease is the kernel's version, and whether it is at least major.minor.
func kernelRelease(major, minor int) (string, bool) {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "", false
	}
	release := unix.ByteSliceToString(u.Release[:])
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return release, false
	}
	return release, a > major || a == major && b >= minor
}

var rotation = func() int { return os.Getpid() % runtime.NumCPU() }
