package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/onboard"
	"clawsh/lib/spelling"
)

// initResult lists what init made, and what was there already.
type initResult struct {
	*onboard.Home
	verbose bool
}

func (r initResult) WriteText(w io.Writer) error {
	if r.verbose {
		for _, p := range r.Created {
			fmt.Fprintf(w, "created  %s\n", p)
		}
		for _, p := range r.Kept {
			fmt.Fprintf(w, "kept     %s\n", p)
		}
	}
	what := "is already set up; nothing changed"
	switch {
	case len(r.Kept) == 0 || slices.Contains(r.Created, r.Dir):
		what = "is set up"
	case len(r.Created) > 0:
		what = "is set up; created what was missing: " + strings.Join(r.Created, ", ")
	}
	fmt.Fprintf(w, "clawsh %s: home %s, workspace %s\n", what, r.Dir, r.Workspace)
	if r.Adopted > 0 {
		fmt.Fprintf(w, "adopted %s without macs: that they are what was written, only their chain says\n",
			spelling.Count(r.Adopted, "receipt"))
	}
	_, err := fmt.Fprintf(w,
		"next: clawsh onboard connects a model; clawsh \"What files are here?\" asks the built-in mock provider\n")
	return err
}

func initialise() command.Command {
	verbose := false
	return command.Command{Name: "init",
		Summary: "create clawsh's home: configuration, workspace, keys and memory; safe to run again",
		Example: "clawsh init",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVarP(&verbose, "verbose", "v", false,
				"list every file and directory")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			home, err := onboard.SetUp(ctx, c.Environ, p)
			if err != nil {
				return nil, err
			}
			return initResult{home, verbose}, nil
		}}
}
