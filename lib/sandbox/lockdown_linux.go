package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"clawsh/lib/confine"
)

// lockdown takes from the calling thread, which is locked, everything that a program must not have; what is started
// from this thread inherits that. Limits hold for the whole process. Nothing of it can be taken back.
func lockdown(o *order) error {
	if err := setLimits(o); err != nil {
		return err
	}
	if err := pin(o.Limits.CPUs, o.Rotate); err != nil {
		return err
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := landlock(o); err != nil {
		return err
	}
	p, err := programFor(o.Exact)
	if err != nil {
		return err
	}
	if o.Exact {
		return listen(p, o.Write)
	}
	return p.Install(false)
}

// setLimits sets the limits of each process (setrlimit(2)), soft and hard alike.
func setLimits(o *order) error {
	if err := o.Limits.Check(); err != nil {
		return err
	}
	tasks, data, files := o.Limits.Processes, o.Limits.MemoryBytes, o.Limits.OpenFiles
	if o.Own {
		tasks, data, files = tasks+interpreterThreads, max(data, InterpreterMemory), max(files, InterpreterFiles)
	}
	if o.Exact {
		tasks += userTasks()
	} else {
		tasks += runtime.GOMAXPROCS(0) + ownThreads
	}
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"data", unix.RLIMIT_DATA, uint64(data)},
		{"file size", unix.RLIMIT_FSIZE, uint64(o.Limits.FileBytes)},
		{"open files", unix.RLIMIT_NOFILE, uint64(files)},
		{"cpu", unix.RLIMIT_CPU, uint64(o.Limits.CPUS)},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 1 << 20},
		{"queued signals", unix.RLIMIT_SIGPENDING, uint64(tasks)},
		{"processes", unix.RLIMIT_NPROC, uint64(tasks)},
	} {
		var have syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &have); err != nil {
			return fmt.Errorf("read the limit of %s: %w", l.name, err)
		}
		want := min(l.value, have.Max)
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: want, Max: want}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// ownThreads is how many threads of this process count as tasks beside its processors.
const ownThreads = 8

// pin leaves the thread so many of its processors. Whoever inherits that cannot change it: the filter forbids the call.
func pin(cpus, rotate int) error {
	var have, want unix.CPUSet
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return fmt.Errorf("read the processors: %w", err)
	}
	if cpus >= have.Count() {
		return nil
	}
	const most = 1024
	for i := 0; i < most && want.Count() < cpus; i++ {
		if cpu := (i + rotate) % most; have.IsSet(cpu) {
			want.Set(cpu)
		}
	}
	for i := 0; i < most && want.Count() < cpus; i++ {
		if have.IsSet(i) {
			want.Set(i)
		}
	}
	if err := unix.SchedSetaffinity(0, &want); err != nil {
		return fmt.Errorf("limit the processors: %w", err)
	}
	return nil
}

// lastCapability is above all that there are; the kernel says where they end.
const lastCapability = 63

// dropPrivileges gives up every capability, of all threads, and of the bounding set of this one, so that none comes
// back with a program.
func dropPrivileges() error {
	for c := uintptr(0); c <= lastCapability; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break
		}
		if err != nil && !errors.Is(err, unix.EPERM) { // EPERM: there is nothing to give up
			return fmt.Errorf("give up capability %s: %w", strconv.Itoa(int(c)), err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up ambient capabilities: %w", err)
	}
	return noCapabilities()
}

// landlock is the second wall around files, and the first around signals and abstract sockets where there are no
// namespaces.
func landlock(o *order) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < o.MinABI {
		if o.MinABI == 0 {
			return nil
		}
		return fmt.Errorf("landlock: this kernel has version %d, %d is needed", max(abi, 0), o.MinABI)
	}
	if abi < confine.MinLandlock {
		return nil
	}
	rules, err := confine.NewRules(abi)
	if err != nil {
		return err
	}
	defer rules.Close()
	for _, p := range o.Read {
		if err := rules.Allow(p, confine.ReadFiles); err != nil {
			return err
		}
	}
	for _, p := range o.Write {
		if err := rules.Allow(p, confine.WriteFiles); err != nil {
			return err
		}
	}
	return rules.Restrict(false)
}
