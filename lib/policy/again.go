package policy

import (
	"context"
	"errors"
	"path/filepath"

	"clawsh/lib/record"
)

// Permitted is what a call was permitted to do: its risk, and the files among those that it may write which other
// programs obey.
type Permitted struct {
	Risk   string
	Obeyed []string
}

// Exec is ExecIn in the workspace, for a call that was judged high: only what is blocked is refused, and what other
// programs obey.
func (p *Policy) Exec(argv []string) error {
	return p.ExecIn(context.Background(), p.workspace, argv, Permitted{Risk: record.RiskHigh})
}

// ExecIn is asked again when a permitted script is about to start a program in a directory, with the words as they have
// been expanded: what the script hid behind a variable is visible now, paths among them. With is what the call was
// judged, and what was approved: a program that is riskier than that was not foreseen, and does not run. The error says
// why; it is the cause of ctx if that ended before all was judged.
func (p *Policy) ExecIn(ctx context.Context, dir string, argv []string, with Permitted) error {
	if len(argv) == 0 {
		return errors.New("there is no program")
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c := command{words: argv, literal: make([]bool, len(argv))}
	values := make([]value, len(argv))
	for i := range argv {
		c.literal[i] = true
		values[i] = value{text: argv[i], known: true}
	}
	e := effortFor(ctx)
	f := p.forbiddenIn(c, e, []string{dir})
	if f.blocked && !e.cancelled {
		return errors.New(f.reason)
	}
	values[0].text = base(argv[0])
	j := &judge{on: p, effort: e, exact: true}
	// where its words come from was judged before
	f = stricter(f, j.run(values, &state{dirs: []string{dir}, vars: map[string]value{}, named: true}, 0))
	f = stricter(f, e.tooComplex())
	if e.cancelled { // what was found until then was found without looking
		return context.Cause(ctx)
	}
	if f.blocked || !with.foreseen(f) || f.risk == record.RiskHigh && with.Risk != record.RiskHigh || f.rank() > 0 &&
		with.Risk == record.RiskLow {
		return errors.New(f.reason)
	}
	return nil
}

// Alone tells whether a program that is about to start has to be kept from starting others: git, where it is judged to
// only look because it is. Once ctx has ended, it has to be.
func (p *Policy) Alone(ctx context.Context, dir string, argv []string) bool {
	if len(argv) == 0 || base(argv[0]) != "git" {
		return false
	}
	values := []value{{text: "git", known: true}}
	for _, w := range argv[1:] {
		values = append(values, value{text: w, known: true})
	}
	j := &judge{on: p, effort: effortFor(ctx), exact: true}
	f := gitRunner(j, values, &state{dirs: []string{dir}, vars: map[string]value{}}, 0)
	return f.rank() < 1 || ctx.Err() != nil
}

// Access is asked again when a permitted call is about to open or examine a file by its absolute path.
// The error is the cause of ctx if that has ended.
func (p *Policy) Access(ctx context.Context, path string, write bool, with Permitted) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if path == "/dev/null" {
		return nil
	}
	if f := p.path(filepath.Clean(path), toWrite(write)); f.blocked || !with.foreseen(f) {
		return errors.New(f.reason)
	}
	return nil
}
