// Package doctor looks at everything that clawsh needs: the home, the configuration, the programs, what each of them
// owns, the machine. It asks the programs that own each thing, and does little itself. What can be mended it mends, if
// somebody says so.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Options say what is looked at, and what may be done about it.
type Options struct {
	// Paths says where the configuration is.
	Paths   func() (config.Paths, error)
	Environ []string
	// Online asks the default provider, too.
	Online bool
	// Yes mends without asking. Otherwise Ask asks whether to; without it, nothing is mended.
	Yes bool
	Ask func(ctx context.Context, question string) (bool, error)
	// SetUp makes a home that is missing.
	SetUp func(ctx context.Context) error
}

// Examine makes all checks.
func Examine(ctx context.Context, o Options) Report {
	d := &examination{Options: o}
	d.run(ctx)
	r := Report{Findings: d.found}
	for _, f := range d.found {
		switch {
		case f.Mended:
			r.Mended++
		case f.State == wrong:
			r.Wrong++
		}
	}
	return r
}

// Failure says that something is wrong; nil if nothing is.
func (r Report) Failure() error {
	if r.Wrong == 0 {
		return nil
	}
	return envelope.Errorf(envelope.ExitError, "doctor.found", "%d of %s found something wrong", r.Wrong,
		spelling.Count(len(r.Findings), "check"))
}

// States of a check.
const (
	sound = "ok"
	noted = "note" // worth knowing, nothing is wrong
	wrong = "wrong"
)

// Finding is what one check has found.
type Finding struct {
	Check   string `json:"check"`
	State   string `json:"state"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`   // what to do by hand
	Mend    string `json:"mend,omitzero"`   // what doctor does about it, if it is told to
	Mended  bool   `json:"mended,omitzero"` // it did
	mend    func(ctx context.Context) error
}

// Report is what all checks have found.
type Report struct {
	Findings []Finding `json:"findings"`
	Wrong    int       `json:"wrong"` // findings that are not mended
	Mended   int       `json:"mended"`
}

// WriteText writes a line for each check.
func (r Report) WriteText(w io.Writer) error {
	var t terminal.Table
	for _, f := range r.Findings {
		state := f.State
		if f.Mended {
			state = "mended"
		}
		t.Row(f.Check, state, f.Message)
		for _, more := range []string{f.Mend, f.Hint} {
			if more != "" && f.State != sound && !f.Mended {
				t.Row("", "", "→ "+more)
			}
		}
	}
	return t.Write(w)
}

// tell adds a finding; one that can be mended is, if that is wanted. It tells whether nothing is wrong now.
func (d *examination) tell(ctx context.Context, f Finding) bool {
	if f.mend != nil && f.State == wrong && d.wanted(ctx, f) {
		if err := f.mend(ctx); err != nil {
			f.Hint = fmt.Sprintf("the repair failed: %v", err)
		} else {
			f.Mended = true
		}
	}
	d.found = append(d.found, f)
	return f.State != wrong || f.Mended
}

// wanted asks whether to mend something. Where nobody can be asked, nothing is.
func (d *examination) wanted(ctx context.Context, f Finding) bool {
	if d.Yes || d.Ask == nil || d.nobody {
		return d.Yes
	}
	yes, err := d.Ask(ctx, fmt.Sprintf("%s: %s\n%s? [y/N] ", f.Check, terminal.Escape(f.Message),
		terminal.Escape(f.Mend)))
	if errors.Is(err, terminal.ErrNoTerminal) {
		d.nobody = true
	}
	return yes && err == nil
}

// failure is the finding for what a program of ours could not do.
func failure(check string, err error) Finding {
	e := envelope.From(err)
	return Finding{Check: check, State: wrong, Message: e.Message, Hint: e.Hint}
}
