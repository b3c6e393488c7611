package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/broker"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/sandbox"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// preflight is what works here, and what of it the configuration takes.
type preflight struct {
	Mode    string            `json:"mode"`
	Layout  string            `json:"layout"`
	Usable  bool              `json:"usable"` // programs can be run
	Why     string            `json:"why,omitzero"`
	Limits  sandbox.Limits    `json:"limits"`
	Engines []sandbox.Finding `json:"engines"`
}

// WriteText writes an engine a line, and below it what it lacks.
func (p preflight) WriteText(w io.Writer) error {
	state := "programs can run"
	if !p.Usable {
		state = "no program can run: " + p.Why
	}
	fmt.Fprintf(w, "%-19s %s, layout %s: %s\n", "sandbox here", p.Mode, p.Layout, terminal.Escape(state))
	for _, e := range p.Engines {
		state := "works, provides every guarantee"
		if len(e.Missing) > 0 {
			state = "works, but does not fully provide: " + join(e.Missing)
		}
		if !e.Works {
			state = "does not work here: " + e.Why
		}
		fmt.Fprintf(w, "  %-17s %s\n", e.Engine, terminal.Escape(state))
	}
	l := p.Limits
	_, err := fmt.Fprintf(w,
		"%-19s %d MiB memory, %s, %s for %d s each process, %d open files, files of %d MiB, /tmp of %d MiB\n",
		"limits", l.MemoryBytes>>20, spelling.Count(l.Processes, "process"), spelling.Count(l.CPUs, "processor"),
		l.CPUS, l.OpenFiles, l.FileBytes>>20, l.TmpBytes>>20)
	return err
}

func join(gs []sandbox.Guarantee) string {
	var s []string
	for _, g := range gs {
		s = append(s, string(g))
	}
	return strings.Join(s, ", ")
}

// failed is the error of a pre-flight that found nothing usable.
func (p preflight) failed() error {
	if p.Usable {
		return nil
	}
	return envelope.Errorf(envelope.ExitSandbox, "sandbox.unavailable", "no program can run: %s", p.Why).
		WithHint("%s", (&sandbox.Unavailable{Mode: p.Mode, Reasons: []string{p.Why}}).Hint())
}

func preflightCommand() command.Command {
	return command.Command{Name: "sandbox", Access: command.Unconfined,
		Summary: "show which sandbox engines work on this machine",
		Long:    "Starts a program that does nothing in every engine of this system, and reports the guarantees of each, or why it does not work.",
		Example: "claw-exec sandbox",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			o, err := options(c)
			if err != nil {
				return nil, err
			}
			cfg := o.Config
			place, limits := broker.Place(o), broker.Limits(cfg)
			p := preflight{Mode: cfg.Security.Sandbox, Layout: cfg.Sandbox.Layout, Limits: limits,
				Engines: []sandbox.Finding{}}
			if p.Mode == sandbox.Off {
				p.Usable = true
				return p, nil
			}
			if p.Layout == sandbox.Staged { // as the first command does
				for _, name := range config.Stages() {
					_ = os.Mkdir(filepath.Join(place.Workspace, name), 0o755) // what cannot be made, the engines say
				}
			}
			s, err := sandbox.New(p.Mode, place, limits)
			if err != nil {
				p.Why = err.Error()
				return p, p.failed()
			}
			p.Engines = sandbox.Preflight(ctx, place, limits)
			p.Usable, p.Why = s.Usable(p.Engines)
			return p, p.failed()
		}}
}
