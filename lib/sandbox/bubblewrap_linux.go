package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// bubblewrap is the engine whose namespaces bwrap(1) makes. What bwrap leaves open, the inner stage closes: limits,
// Landlock and the filter are the same as in the native engine.
type bubblewrap struct{}

func (bubblewrap) name() string { return Bubblewrap }

func (bubblewrap) report() Report {
	r := linuxReport(Bubblewrap, false)
	r.Guarantees = map[Guarantee]string{
		Network: "network namespace, seccomp", Files: "read-only root, mounts, landlock", Secrets: "mount namespace",
		Temporary: "tmpfs",
		Processes: "process namespace, landlock", Environment: "allowlist, close_range",
		Privileges: "user namespace, no_new_privs, seccomp",
		Calls:      "seccomp", Memory: "rlimit, watchdog", CPU: "affinity, rlimit", Descriptors: "rlimit"}
	if os.Getuid() != 0 {
		r.Guarantees[Tasks] = "rlimit" // which the kernel does not hold root to
	}
	return r
}

func (bubblewrap) run(ctx context.Context, place Place, limits Limits, p Program, s Streams) (Exit, error) {
	bwrap, err := findHelper("bwrap")
	if err != nil {
		return Exit{}, setupError{err}
	}
	own := place.Self != ""
	if !own { // the inner stage is
		if place.Self, err = os.Executable(); err != nil {
			return Exit{}, setupError{err}
		}
	}
	h, v, err := holdView(place, limits)
	if err != nil {
		return Exit{}, setupError{err}
	}
	defer h.release()
	program := p
	if own {
		program = interpreter(insidePath, StageShell, p)
	}
	o := &order{Program: program, Limits: limits, Own: own, Read: []string{"/"}, Write: append(writable(v), "/proc"),
		Rotate: rotation(), MinABI: 3}
	l := newLaunch(stageInner, o, s, limits)
	cmd := exec.Command(bwrap)
	cmd.Args = bwrapArgs(v)
	cmd.Env, cmd.Dir = []string{}, "/" // its first process would show the environment that it was started with
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = l.cmd.Stdin, l.cmd.Stdout, l.cmd.Stderr, l.cmd.WaitDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	l.cmd = cmd
	return l.run(ctx)
}

// bwrapArgs is the command line for a view.
func bwrapArgs(v []mount) []string {
	args := []string{"bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
		"--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--setenv", "GOMAXPROCS", "1",
		"--hostname", "sandbox"}
	for _, m := range v {
		switch m.Kind {
		case mountRead:
			args = append(args, "--ro-bind", m.Source, m.Target)
		case mountWrite:
			args = append(args, "--bind", m.Source, m.Target)
		case mountDev:
			args = append(args, "--dev-bind", m.Source, m.Target)
		case mountLink:
			args = append(args, "--symlink", m.Source, m.Target)
		case mountTmp:
			args = append(args, "--perms", "1777", "--size", strconv.FormatInt(m.Bytes, 10), "--tmpfs", m.Target)
		case mountDir:
			args = append(args, "--size", "4096", "--tmpfs", m.Target, "--remount-ro", m.Target)
		case mountNull:
			args = append(args, "--ro-bind", "/dev/null", m.Target)
		case mountProc:
			args = append(args, "--proc", m.Target)
			for _, name := range procRead {
				args = append(args, "--ro-bind-try", "/proc/"+name, "/proc/"+name)
			}
			for _, name := range procNull {
				if _, err := os.Stat("/proc/" + name); err == nil {
					args = append(args, "--ro-bind", "/dev/null", "/proc/"+name)
				}
			}
			args = append(args, "--remount-ro", m.Target)
		}
	}
	return append(args, "--remount-ro", "/", "--chdir", "/", "--", insidePath, confineWord, stageInner)
}
