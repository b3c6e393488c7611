package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// States of a check.
const (
	sound = "ok"
	noted = "note" // worth knowing, nothing is wrong
	wrong = "wrong"
)

// finding is what one check has found.
type finding struct {
	Check   string `json:"check"`
	State   string `json:"state"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`   // what to do by hand
	Mend    string `json:"mend,omitzero"`   // what doctor does about it, if it is told to
	Mended  bool   `json:"mended,omitzero"` // it did
	mend    func(ctx context.Context) error
}

type doctorResult struct {
	Findings []finding `json:"findings"`
	Wrong    int       `json:"wrong"` // findings that are not mended
	Mended   int       `json:"mended"`
}

func (r doctorResult) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		state := f.State
		if f.Mended {
			state = "mended"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Check, state, terminal.Escape(f.Message))
		for _, more := range []string{f.Mend, f.Hint} {
			if more != "" && f.State != sound && !f.Mended {
				fmt.Fprintf(t, "\t\t%s\n", terminal.Escape("→ "+more))
			}
		}
	}
	return t.Flush()
}

// doctor looks at everything that clawsh needs. It asks the programs that own each thing, and does little itself.
func doctor() command.Command {
	var o struct{ yes, online bool }
	return command.Command{Name: "doctor", Summary: "check this installation, and repair what can be repaired", Access: command.Unconfined,
		Long: `Checks the owners and modes of the home's files, the configuration, the programs, the sandbox, the keys, the memory, the
receipts, the audit log, the clock and the disks. On a terminal, asks before each repair; with --yes, repairs without
asking; without a terminal, only reports. The exit code is 1 if something is wrong and was not repaired.`,
		Example: "clawsh doctor\nclawsh doctor --online --output-format json",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVarP(&o.yes, "yes", "y", false, "repair without asking")
			f.BoolVar(&o.online, "online", false, "also ask the default provider for an answer")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			d := &examination{call: c, online: o.online, yes: o.yes}
			d.run(ctx)
			res := &doctorResult{Findings: d.findings}
			for _, f := range d.findings {
				switch {
				case f.Mended:
					res.Mended++
				case f.State == wrong:
					res.Wrong++
				}
			}
			if res.Wrong == 0 {
				return res, ctx.Err()
			}
			return res, envelope.Errorf(envelope.ExitError, "doctor.found", "%d of %s found something wrong", res.Wrong, spelling.Count(len(res.Findings), "check"))
		}}
}

// tell adds a finding; one that can be mended is, if that is wanted. It tells whether nothing is wrong now.
func (d *examination) tell(ctx context.Context, f finding) bool {
	if f.mend != nil && f.State == wrong && d.wanted(ctx, f) {
		if err := f.mend(ctx); err != nil {
			f.Hint = fmt.Sprintf("the repair failed: %v", err)
		} else {
			f.Mended = true
		}
	}
	d.findings = append(d.findings, f)
	return f.State != wrong || f.Mended
}

// wanted asks whether to mend something. Where nobody can be asked, nothing is.
func (d *examination) wanted(ctx context.Context, f finding) bool {
	if d.yes {
		return true
	}
	if d.nobody || !terminal.IsTerminal(d.terminalFile()) {
		return false
	}
	yes, err := terminal.Confirm(ctx, fmt.Sprintf("%s: %s\n%s? [y/N] ", f.Check, terminal.Escape(f.Message), terminal.Escape(f.Mend)))
	if errors.Is(err, terminal.ErrNoTerminal) {
		d.nobody = true
	}
	return yes && err == nil
}

// failure is the finding for what a program of ours could not do.
func failure(check string, err error) finding {
	e := envelope.From(err)
	return finding{Check: check, State: wrong, Message: e.Message, Hint: e.Hint}
}
