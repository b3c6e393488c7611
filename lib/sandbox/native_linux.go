package sandbox

import (
	"context"
	"os"
	"strconv"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// native is the engine of our own: namespaces and a root that is put together for the program.
type native struct{}

func (native) name() string { return Native }

// report says what it gives on this host, by what is known before it runs. What it then cannot set up, it refuses.
func (native) report() Report {
	r := linuxReport(Native, false)
	r.Guarantees = map[Guarantee]string{
		Network: "network namespace, seccomp", Files: "read-only root, mounts" + andLandlock(r.LandlockABI),
		Secrets:   "mount namespace",
		Temporary: "tmpfs", Processes: "process namespace", Environment: "allowlist, close_range",
		Privileges: "user namespace, no_new_privs, seccomp", Calls: "seccomp", Memory: "rlimit, watchdog",
		CPU: "affinity, rlimit", Descriptors: "rlimit"}
	if _, per := kernelRelease(6, 14); per {
		r.Guarantees[Tasks] = "pid_max, rlimit"
	} else if os.Getuid() != 0 {
		r.Guarantees[Tasks] = "rlimit" // which the kernel does not hold root to
	}
	return r
}

func andLandlock(abi int) string {
	if abi >= 3 {
		return ", landlock"
	}
	return ""
}

// linuxReport is what all engines on Linux say.
func linuxReport(engine string, bare bool) Report {
	r := Report{Engine: engine}
	r.Kernel, _ = kernelRelease(0, 0)
	if abi, err := ll.LandlockGetABIVersion(); err == nil {
		r.LandlockABI = abi
	}
	if p, err := programFor(bare); err == nil {
		r.FilterHash = p.Hash()
	}
	return r
}

// reservedPids are numbers that the kernel does not give out twice (kernel/pid.c).
const reservedPids = 300

func (native) run(ctx context.Context, place Place, limits Limits, p Program, s Streams) (Exit, error) {
	h, v, err := holdView(place, limits)
	if err != nil {
		return Exit{}, setupError{err}
	}
	defer h.release()
	if place.Self != "" {
		p = interpreter(insidePath, StageShell, p)
	}
	o := &order{Program: p, Limits: limits, Own: place.Self != "", View: v, Read: []string{"/"},
		Write: append(writable(v), "/proc"), Rotate: rotation(), Scratch: scratchDir()}
	if _, per := kernelRelease(6, 14); per {
		o.PidMax = reservedPids + limits.Processes + ownThreads + 8
		if o.Own {
			o.PidMax += interpreterThreads
		}
	}
	return startNative(ctx, o, limits, s)
}

// startNative starts the first process of new namespaces.
func startNative(ctx context.Context, o *order, limits Limits, s Streams) (Exit, error) {
	l := newLaunch(stageInit, o, s, limits)
	uid, gid := os.Getuid(), os.Getgid()
	l.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		// Held by the process that builds the view until it has, and by nothing that it starts.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
		Setsid:      true, Pdeathsig: syscall.SIGKILL,
	}
	return l.run(ctx)
}

// scratchDir is a directory of the host that the new root is mounted on, in the sandbox's own namespace: any will do
// that is there.
func scratchDir() string {
	for _, d := range []string{"/tmp", "/mnt", "/usr", "/proc/" + strconv.Itoa(os.Getpid())} {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			return d
		}
	}
	return "/"
}
