package sandbox

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"

	"clawsh/lib/process"
	writer "clawsh/lib/sandbox/seatbelt"
)

func engines() map[string]engine {
	return map[string]engine{Seatbelt: seatbelt{}, Container: container{}}
}

// Enter is for Linux.
func Enter([]string) {}

// seatbelt is macOS's sandbox-exec(1): files and network, but neither namespaces nor a bound on all processes together.
type seatbelt struct{}

func (seatbelt) name() string { return Seatbelt }

func (seatbelt) report() Report {
	return Report{Engine: Seatbelt, Guarantees: map[Guarantee]string{Network: "seatbelt", Files: "seatbelt",
		Secrets: partly + "seatbelt; what cannot be read is seen to exist", Processes: partly +
			"seatbelt signals, process group",
		Environment: "allowlist", Privileges: partly + "seatbelt", CPU: partly + "ulimit", Descriptors: "ulimit"}}
}

// limitScript sets the limits in the child: there is no other place for them before the program begins.
const limitScript = `ulimit -c 0 && ulimit -n "$1" && ulimit -t "$2" && ulimit -f "$3" && shift 3 && exec "$@"`

func (seatbelt) run(ctx context.Context, place Place, limits Limits, p Program, s Streams) (Exit, error) {
	v, err := seatbeltView(place)
	if err != nil {
		return Exit{}, setupError{err}
	}
	if place.Self != "" {
		v, p = append(v, mount{Kind: mountRead, Target: place.Self, IsFile: true}),
			interpreter(place.Self, StageShared, p)
	}
	profile, err := writer.Profile(rules(v))
	if err != nil {
		return Exit{}, setupError{err}
	}
	const tool = "/usr/bin/sandbox-exec"
	if _, err := os.Stat(tool); err != nil {
		return Exit{}, setupError{errors.New("sandbox-exec is not installed")}
	}
	argv := append([]string{tool, "-p", profile, "/bin/sh", "-c", limitScript, "sh", strconv.Itoa(limits.OpenFiles),
		strconv.Itoa(limits.CPUS),
		strconv.FormatInt(limits.FileBytes/512, 10)}, p.Argv...)
	code, err := process.RunTree(ctx, process.TreeSpec{Argv: argv, Dir: p.Dir, Env: p.Env, Stdin: s.Stdin,
		Stdout: s.Stdout, Stderr: s.Stderr})
	if err != nil && ctx.Err() != nil {
		return Exit{Code: code, Killed: context.Cause(ctx).Error()}, nil
	}
	return Exit{Code: code}, err
}

// seatbeltView is what of a place a profile is about.
func seatbeltView(p Place) ([]mount, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var m []mount
	for _, r := range slices.Concat(p.Read, p.Roots) {
		m = append(m, mount{Kind: mountRead, Target: r})
	}
	own, err := workspace(p)
	if err != nil {
		return nil, err
	}
	m = append(m, own...)
	if p.Home != "" {
		if err := sameDirectory(p.Home, p.HomeID); err != nil {
			return nil, err
		}
		m = append(m, mount{Kind: mountWrite, Source: p.Home, Target: p.Home})
	}
	return append(m, covers(m, p.Hidden)...), nil
}

// rules are a view as a profile says it. What is neither read nor written is covered there, so it is denied.
func rules(v []mount) []writer.Rule {
	var out []writer.Rule
	for _, m := range v {
		r := writer.Rule{Path: m.Target, IsFile: m.IsFile}
		switch m.Kind {
		case mountRead:
			r.Access = writer.Read
		case mountWrite:
			r.Access = writer.Write
		}
		out = append(out, r)
	}
	return out
}
