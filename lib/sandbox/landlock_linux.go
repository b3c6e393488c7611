package sandbox

import (
	"context"
	"os"
	"slices"
	"syscall"

	"clawsh/lib/place"
)

// landlocked is the engine without namespaces. Much of what the others give it gives in part: it is for hosts that
// allow nothing else, and has to be named.
type landlocked struct{}

func (landlocked) name() string { return Landlock }

func (landlocked) report() Report {
	r := linuxReport(Landlock, true)
	r.Guarantees = map[Guarantee]string{Network: "seccomp", Environment: "allowlist, close_range",
		Privileges: "no_new_privs, seccomp",
		Calls:      "seccomp", Memory: "rlimit, watchdog", CPU: "affinity, rlimit", Descriptors: "rlimit",
		Processes: partly + "killed at the end; it can signal others of the user", Temporary: partly +
			"/tmp is out of reach, and there is no other"}
	if r.LandlockABI >= 3 {
		r.Guarantees[Files] = partly +
			"landlock, seccomp, keeper; in the workspace no repository, no file that other programs obey and " +
			"nothing hidden is protected"
		r.Guarantees[Secrets] = partly +
			"landlock, seccomp; what cannot be read is seen to exist, with its size, owner, mode, times and links"
	}
	if r.LandlockABI >= 6 {
		r.Guarantees[Processes] = partly + "landlock, killed at the end; those outside are seen to exist"
	}
	if os.Getuid() != 0 {
		r.Guarantees[Tasks] = "rlimit, counted with all of the user's"
	}
	return r
}

func (landlocked) run(ctx context.Context, place Place, limits Limits, p Program, s Streams) (Exit, error) {
	v, err := view(place, limits)
	if err != nil {
		return Exit{}, setupError{err}
	}
	if place.Self != "" {
		p = interpreter(place.Self, StageShared, p)
	}
	o := &order{Program: p, Limits: limits, Own: place.Self != "", Rotate: rotation(), MinABI: 3, Exact: true}
	for _, m := range v {
		switch m.Kind {
		case mountRead:
			if !slices.Contains(place.Roots, m.Source) || !covered(v, m.Source) {
				o.Read = append(o.Read, m.Source)
			}
		case mountWrite, mountDev:
			o.Write = append(o.Write, m.Source)
		}
	}
	l := newLaunch(stageKeeper, o, s, limits)
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	l.subreap = true
	return l.run(ctx)
}

// covered tells whether something is hidden below a directory: Landlock allows all of it or nothing.
func covered(v []mount, dir string) bool {
	return slices.ContainsFunc(v, func(m mount) bool {
		return (m.Kind == mountDir || m.Kind == mountNull) &&
			place.Within(dir, m.Target)
	})
}
