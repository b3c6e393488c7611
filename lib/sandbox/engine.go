package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// engine is one way to confine a program.
type engine interface {
	name() string
	// report says what the engine promises on this host, as far as can be known without running anything.
	report() Report
	// run runs a program. A setupError means that nothing was run; any other error that the program could not be
	// started.
	run(ctx context.Context, place Place, limits Limits, p Program, s Streams) (Exit, error)
}

// Modes are what the configuration may name, with the engines that each tries, in order.
var modes = map[string][]string{
	"auto":     {Native, Bubblewrap},
	Landlock:   {Landlock},
	Container:  {Container},
	Seatbelt:   {Seatbelt},
	Native:     {Native},
	Bubblewrap: {Bubblewrap},
}

// accepted are the guarantees that a mode by its name does without.
func accepted(mode string, r Report) []Guarantee {
	if mode == "auto" || mode == Native || mode == Bubblewrap {
		return nil
	}
	return r.Missing
}

// Sandbox runs programs by one mode, at one place, within limits. It is safe for concurrent use.
type Sandbox struct {
	mode   string
	place  Place
	limits Limits

	mu     sync.Mutex
	chosen engine // what worked last
}

// New returns a sandbox of a mode: auto, landlock, container or seatbelt, or an engine by its name. The place and the
// limits are checked.
func New(mode string, place Place, limits Limits) (*Sandbox, error) {
	if _, ok := modes[mode]; !ok {
		return nil, fmt.Errorf("there is no sandbox %q", mode)
	}
	if err := limits.Check(); err != nil {
		return nil, err
	}
	if err := place.Check(); err != nil {
		return nil, err
	}
	return &Sandbox{mode: mode, place: place, limits: limits}, nil
}

// Adapt is a place and limits of one call, which can only be narrower than the sandbox's own.
type Adapt struct {
	Home     string `json:"home,omitzero"`
	HomeID   string `json:"-"` // as of Place, which nobody outside is asked for
	Layout   string `json:"layout,omitzero"`
	ReadOnly bool   `json:"read_only,omitzero"`
	// Obeyed are files that other programs obey, and that the call may write all the same.
	Obeyed []string `json:"obeyed,omitzero"`
	Limits Limits   `json:"limits,omitzero"` // zero: the sandbox's own
	Self   bool     `json:"-"`               // the program is our own, as an interpreter that starts others
}

// narrow applies what a call asks for.
func (s *Sandbox) narrow(a Adapt) (Place, Limits) {
	p, l := s.place, s.limits
	if a.Home != "" {
		p.Home, p.HomeID = a.Home, a.HomeID
	}
	if a.Layout == Staged {
		p.Layout = Staged
	}
	p.Obeyed = a.Obeyed
	p.ReadOnly = p.ReadOnly || a.ReadOnly
	lower := func(have *int, want int) {
		if want > 0 {
			*have = min(*have, want)
		}
	}
	lower64 := func(have *int64, want int64) {
		if want > 0 {
			*have = min(*have, want)
		}
	}
	lower64(&l.MemoryBytes, a.Limits.MemoryBytes)
	lower64(&l.FileBytes, a.Limits.FileBytes)
	lower64(&l.TmpBytes, a.Limits.TmpBytes)
	lower(&l.Processes, a.Limits.Processes)
	lower(&l.OpenFiles, a.Limits.OpenFiles)
	lower(&l.CPUs, a.Limits.CPUs)
	lower(&l.CPUS, a.Limits.CPUS)
	return p, l
}

// Run runs a program in the first engine of the mode that gives what is required, and says which one that was. An
// *Unavailable error means that none does, and that nothing was run; any other, that the program could not be started.
func (s *Sandbox) Run(ctx context.Context, a Adapt, p Program, io Streams) (Exit, Report, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, Report{}, context.Cause(ctx)
	}
	place, limits := s.narrow(a)
	if a.Self {
		self, err := os.Executable()
		if err != nil {
			return Exit{}, Report{}, &Unavailable{Mode: s.mode, Reasons: []string{err.Error()}}
		}
		place.Self, p.Argv = self, []string{self}
	}
	if len(p.Argv) == 0 || !strings.HasPrefix(p.Argv[0], "/") {
		return Exit{}, Report{}, errors.New("run a program: want its absolute path")
	}
	if err := errors.Join(place.Check(), limits.Check()); err != nil {
		return Exit{}, Report{}, &Unavailable{Mode: s.mode, Reasons: []string{err.Error()}}
	}
	var reasons []string
	before := place.standing()
	place.found = before.repositories
	for _, e := range s.candidates() {
		r := e.report().lacks(All)
		if missing := except(r.Missing, accepted(s.mode, r)); len(missing) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s: it does not bound or hide %s here", e.name(), names(missing)))
			continue
		}
		exit, err := e.run(ctx, place, limits, p, io)
		var setup setupError
		if errors.As(err, &setup) {
			reasons = append(reasons, e.name()+": "+err.Error())
			continue
		}
		s.mu.Lock()
		s.chosen = e
		s.mu.Unlock()
		exit.Made = place.made(before)
		return exit, r, err
	}
	return Exit{}, Report{}, &Unavailable{Mode: s.mode, Reasons: reasons}
}

// candidates are the engines to try: what worked once, works again.
func (s *Sandbox) candidates() []engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chosen != nil {
		return []engine{s.chosen}
	}
	var out []engine
	for _, name := range modes[s.mode] {
		if e, ok := engines()[name]; ok {
			out = append(out, e)
		} else {
			out = append(out, absentEngine(name))
		}
	}
	return out
}

// absentEngine is one that this system does not have.
type absentEngine string

func (a absentEngine) name() string { return string(a) }
func (a absentEngine) report() Report {
	return Report{Engine: string(a), Guarantees: everything("none")}
}
func (a absentEngine) run(context.Context, Place, Limits, Program, Streams) (Exit, error) {
	return Exit{}, setupError{errors.New("there is none on this system")}
}

func everything(mechanism string) map[Guarantee]string {
	m := map[Guarantee]string{}
	for _, g := range All {
		m[g] = mechanism
	}
	return m
}

func except(all, without []Guarantee) []Guarantee {
	return slices.DeleteFunc(slices.Clone(all), func(g Guarantee) bool { return slices.Contains(without, g) })
}

func names(gs []Guarantee) string {
	var s []string
	for _, g := range gs {
		s = append(s, string(g))
	}
	return strings.Join(s, ", ")
}

// Finding is what a pre-flight found out about one engine.
type Finding struct {
	Report
	Works bool   `json:"works"`
	Why   string `json:"why,omitzero"` // why it does not
}

// Preflight really starts a program in every engine of this system, and says what each gives. The program is one of the
// system's that does nothing.
func Preflight(ctx context.Context, place Place, limits Limits) []Finding {
	var out []Finding
	for _, name := range []string{Native, Bubblewrap, Landlock, Container, Seatbelt} {
		e, ok := engines()[name]
		if !ok {
			continue
		}
		f := Finding{Report: e.report().lacks(All)}
		exit, err := e.run(ctx, place, limits, Program{Argv: []string{truth()}, Dir: place.Workspace}, Streams{})
		switch {
		case err != nil:
			f.Why = err.Error()
		case exit.Code != 0:
			f.Why = fmt.Sprintf("a program that does nothing ended with exit code %d %s", exit.Code, exit.Killed)
		default:
			f.Works = true
		}
		out = append(out, f)
	}
	return out
}

// truth is a program that does nothing.
func truth() string {
	for _, p := range []string{"/bin/true", "/usr/bin/true"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return "/bin/sh"
}

// Usable tells, from what a pre-flight found, whether the sandbox's mode can run programs, and if not, why.
func (s *Sandbox) Usable(found []Finding) (bool, string) {
	var reasons []string
	for _, name := range modes[s.mode] {
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Engine == name })
		switch {
		case i < 0:
			reasons = append(reasons, name+": there is none on this system")
		case !found[i].Works:
			reasons = append(reasons, name+": "+found[i].Why)
		case len(except(found[i].Missing, accepted(s.mode, found[i].Report))) > 0:
			reasons = append(reasons, name+": it does not bound or hide "+names(found[i].Missing)+" here")
		default:
			return true, ""
		}
	}
	return false, strings.Join(reasons, "; ")
}
