package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"clawsh/lib/process"
)

// EnterInterpreter tells whether this process was started as the interpreter of a script. Then nobody can look into it
// from here on, and it is bounded. It belongs at the very start of claw-exec's main.
func EnterInterpreter(args []string) (*Starter, error) {
	if len(args) != 3 || args[1] != confineWord ||
		!slices.Contains([]string{StageShell, StageShared, StageBare}, args[2]) {
		return nil, nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("hide memory: %w", err)
	}
	debug.SetMaxStack(InterpreterMemory / 4)
	debug.SetMemoryLimit(InterpreterMemory * 3 / 4)
	s := &Starter{stage: args[2], data: &softLimit{},
		plain: sync.OnceValues(func() (int, error) { return newDomain(nil, "") })}
	if err := s.data.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// Start starts a program of the script, with alone one that may start no other. In a sandbox it is held in a Landlock
// domain of its own: it neither signals nor looks into the interpreter, or what else the script runs.
func (s *Starter) Start(cmd *exec.Cmd, alone bool) error {
	if s.stage == StageBare {
		return s.data.lift(func() error { return process.Launch(cmd) })
	}
	// What is left when the interpreter ends, the sandbox ends: no signal has to come then.
	if !alone {
		ruleset, err := s.plain()
		if err != nil {
			return err
		}
		return spawn(cmd, ruleset, s.limits(), last{})
	}
	final, err := newLast()
	if err != nil {
		return errors.Join(setupError{ErrAlone}, err)
	}
	ruleset, err := newDomain(s.Reads, cmd.Path)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	return spawn(cmd, ruleset, s.limits(), final)
}

// limits are what a program has where the interpreter has something else.
func (s *Starter) limits() []limit {
	data := s.data.hard
	if s.Memory > 0 {
		data.Max = min(data.Max, uint64(s.Memory))
		data.Cur = data.Max
	}
	l := []limit{{unix.RLIMIT_DATA, data}}
	if s.Files > 0 {
		l = append(l, limit{unix.RLIMIT_NOFILE, syscall.Rlimit{Cur: uint64(s.Files), Max: uint64(s.Files)}})
	}
	return l
}

// Ended ends what programs have left, where no process is in sight that is not the script's.
func (s *Starter) Ended() {
	if s.stage == StageShell {
		syscall.Kill(-1, syscall.SIGKILL) // spares ourselves, and the first process of the namespace
	}
}

// noDomain is the ruleset of a kernel that has none.
const noDomain = -1

// newDomain makes the ruleset of a Landlock domain below that of the sandbox, in which nothing but a program runs, and
// what that starts. Where alone is named it executes nothing but that, and reads nothing but what lies below reads, and
// what programs need of the system.
func newDomain(reads []string, alone string) (ruleset int, err error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	attr := ll.RulesetAttr{}
	if abi >= 6 {
		attr.Scoped = ll.ScopeSignal
	}
	if alone != "" && abi < 1 {
		return noDomain, setupError{ErrAlone}
	}
	if alone != "" {
		attr.HandledAccessFS = aloneRights
	}
	if attr.Scoped == 0 && attr.HandledAccessFS == 0 {
		return noDomain, nil
	}
	// A layer takes the right to move files between directories unless it says otherwise.
	const moves = ll.AccessFSRefer
	if abi >= 2 {
		attr.HandledAccessFS |= moves
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return noDomain, fmt.Errorf("confine a program: %w", err)
	}
	err = allowBelow(fd, "/", moves&attr.HandledAccessFS)
	if err == nil && alone != "" {
		err = allowAlone(fd, reads, alone)
	}
	if err != nil {
		unix.Close(fd)
		return noDomain, err
	}
	return fd, nil
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
	if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights},
		0); err != nil {
		return fmt.Errorf("confine a program: %s: %w", path, err)
	}
	return nil
}

// softLimit bounds the data of the interpreter. Without a sandbox it is lifted while a program is started, which
// inherits what there is then.
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
