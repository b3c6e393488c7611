package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// checkResult is what was found.
type checkResult struct{ memory.Checkup }

// WriteText implements command.Result.
func (r checkResult) WriteText(w io.Writer) error {
	for _, p := range r.Problems {
		done := ""
		if p.Rebuilt {
			done = " (repaired)"
		}
		fmt.Fprintf(w, "%s: %s%s\n", p.What, terminal.Escape(p.Message), done)
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s left\n", terminal.Escape(r.Path),
		spelling.Count(r.Conversations, "conversation"), spelling.Count(r.Entries, "entry"),
		spelling.Count(len(r.Left()), "problem"))
	return err
}

func check() command.Command {
	var k memory.CheckOptions
	return command.Command{Name: "check", Offered: []string{"memory check"},
		Summary: "check the memory and its mirrors for damage",
		Long: `Checks the database (structure, indexes, references and schema) and compares the session mirrors with it. The exit code
is 1 if anything is wrong. A mirror that lacks its last lines, as after a crash, is reported but is not damage.

Other programs can keep reading and writing; with --words or --rebuild, writers wait.`,
		Example: "claw-mem check\nclaw-mem check --rebuild --repair-mirror",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&k.Words, "words", false, "compare every word of the search indexes with the entries, too")
			f.BoolVar(&k.Rebuild, "rebuild", false,
				"rebuild indexes, triggers and views, and erase remains of deleted entries")
			f.BoolVar(&k.RepairMirror, "repair-mirror", false, "rewrite mirrors that differ from the database")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access { return checking(c, cfg, k) },
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			var r checkResult
			err := opened(c, memory.Options{Kept: true, ReadOnly: !k.Writes()},
				func(cfg *config.Config, s *memory.Store) (err error) {
					r.Checkup, err = s.Checkup(ctx, mirrorOf(cfg), k)
					r.Path = cfg.Memory.Path
					return err
				})
			if err != nil {
				return nil, err
			}
			if left := r.Left(); len(left) > 0 {
				return r, envelope.Errorf(envelope.ExitError, "memory.damaged", "the memory has %s, the first: %s",
					spelling.Count(len(left), "problem"), terminal.Escape(left[0].Message)).
					WithHint("rebuild indexes with --rebuild and mirrors with --repair-mirror; restore lost entries by copying a backup over %s and removing its -wal and -shm files", r.Path)
			}
			return r, nil
		}}
}

// checking is the row of check: it writes only what it was asked to.
func checking(c *command.Call, cfg *config.Config, k memory.CheckOptions) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	a := looking(c, cfg)
	if k.Writes() {
		a = storing(c, cfg)
	}
	agents := filepath.Join(cfg.Home, "agents")
	if k.RepairMirror {
		a.Write = append(a.Write, agents)
	} else {
		a.Read, a.List = append(a.Read, agents), append(a.List, agents)
	}
	return a
}
