package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"clawsh/lib/process"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

// EnterInterpreter tells whether this process was started as the interpreter of a script. Then nobody can look into it from
// here on, and it is bounded. It belongs at the very start of claw-exec's main.
func EnterInterpreter(args []string) (*Starter, error) {
	if len(args) > 3 && args[1] == confineWord && args[2] == StageLimit {
		limitAndBecome(args[3:])
	}
	if len(args) != 3 || args[1] != confineWord || !slices.Contains([]string{StageShell, StageShared, StageBare}, args[2]) {
		return nil, nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("hide memory: %w", err)
	}
	debug.SetMaxStack(InterpreterMemory / 4)
	debug.SetMemoryLimit(InterpreterMemory * 3 / 4)
	s := &Starter{stage: args[2], self: args[0], data: &softLimit{}}
	if err := s.data.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// Start starts a program of the script, with alone one that may start no other. In a sandbox it is held in a Landlock domain of
// its own: it neither signals nor looks into the interpreter, or what else the script runs.
func (s *Starter) Start(cmd *exec.Cmd, alone bool) error {
	program := cmd.Path
	s.limited(cmd)
	return s.data.lift(func() error {
		if s.stage == StageBare {
			return process.Launch(cmd)
		}
		// The signal would come when the thread ends. What is left when the interpreter ends, the sandbox ends.
		cmd.SysProcAttr.Pdeathsig = 0
		return onOwnThread(func() error {
			if err := ownDomain(alone, s.Reads, program, s.self); err != nil {
				return err
			}
			return cmd.Start()
		})
	})
}

// onOwnThread runs f on a thread that ends with it, and with what f gave up. That is never the main thread: it does not end, and the
// kernel judges a signal to the process by the domain that the main thread is in.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			err := onOwnThread(f) // nothing else runs on this thread until it returns
			runtime.UnlockOSThread()
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// Ended ends what programs have left, where no process is in sight that is not the script's.
func (s *Starter) Ended() {
	if s.stage == StageShell {
		syscall.Kill(-1, syscall.SIGKILL) // spares ourselves, and the first process of the namespace
	}
}

// signalsMended is the erratum without which a thread that is held cannot signal one of the same process that is not.
const signalsMended = 1 << 1

// ownDomain holds the calling thread, and what it starts, in a Landlock domain below that of the sandbox. With alone it executes
// nothing but programs, and reads nothing but what lies below reads, and what programs need of the system.
func ownDomain(alone bool, reads []string, programs ...string) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	attr := ll.RulesetAttr{}
	if errata, err := ll.LandlockGetErrata(); abi >= 6 && err == nil && errata&signalsMended != 0 {
		attr.Scoped = ll.ScopeSignal
	}
	if alone && abi < 1 {
		return setupError{ErrAlone}
	}
	if alone {
		attr.HandledAccessFS = aloneRights
	}
	if attr.Scoped == 0 && attr.HandledAccessFS == 0 {
		return nil
	}
	// A layer takes the right to move files between directories unless it says otherwise.
	const moves = ll.AccessFSRefer
	if abi >= 2 {
		attr.HandledAccessFS |= moves
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("confine a program: %w", err)
	}
	defer syscall.Close(fd)
	if err := allowBelow(fd, "/", moves&attr.HandledAccessFS); err != nil {
		return err
	}
	if alone {
		if err := allowAlone(fd, reads, programs...); err != nil {
			return err
		}
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("confine a program: %w", err)
	}
	return nil
}

func allowBelow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // what is not there needs no right
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("confine a program: %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &^= ll.AccessFSReadDir
	}
	if rights == 0 {
		return nil
	}
	if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0); err != nil {
		return fmt.Errorf("confine a program: %s: %w", path, err)
	}
	return nil
}

// softLimit bounds the data of the interpreter, and is lifted while it starts a program, which inherits what there is then.
type softLimit struct {
	mu       sync.Mutex
	starting int
	hard     syscall.Rlimit
}

func (l *softLimit) open() error {
	if err := syscall.Getrlimit(unix.RLIMIT_DATA, &l.hard); err != nil {
		return fmt.Errorf("read the limit of data: %w", err)
	}
	return l.set(min(l.hard.Max, InterpreterMemory))
}

func (l *softLimit) set(soft uint64) error {
	if err := syscall.Setrlimit(unix.RLIMIT_DATA, &syscall.Rlimit{Cur: soft, Max: l.hard.Max}); err != nil {
		return fmt.Errorf("limit data: %w", err)
	}
	return nil
}

func (l *softLimit) lift(start func() error) error {
	l.mu.Lock()
	if l.starting++; l.starting == 1 {
		if err := l.set(l.hard.Cur); err != nil {
			l.starting--
			l.mu.Unlock()
			return err
		}
	}
	l.mu.Unlock()
	err := start()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.starting--; l.starting == 0 {
		return errors.Join(err, l.set(min(l.hard.Max, InterpreterMemory)))
	}
	return err
}

// limitAndBecome sets the limits of a program and becomes it: MEMORY FILES PATH ARGV…
func limitAndBecome(args []string) {
	err := errors.New("too few words")
	if len(args) > 3 {
		err = errors.Join(lower(unix.RLIMIT_DATA, args[0]), lower(unix.RLIMIT_NOFILE, args[1]))
	}
	if err == nil {
		err = syscall.Exec(args[2], args[3:], os.Environ())
		err = fmt.Errorf("%s: %w", args[2], err)
	}
	fmt.Fprintln(os.Stderr, err)
	syscall.Exit(126)
}

func lower(resource int, limit string) error {
	n, err := strconv.ParseUint(limit, 10, 63)
	if err != nil || n == 0 {
		return err
	}
	var have syscall.Rlimit
	if err := syscall.Getrlimit(resource, &have); err != nil {
		return err
	}
	n = min(n, have.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: n, Max: n})
}
