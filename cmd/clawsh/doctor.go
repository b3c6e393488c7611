package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/doctor"
	"clawsh/lib/onboard"
	"clawsh/lib/terminal"
)

// examine is clawsh doctor.
func examine() command.Command {
	var o struct{ yes, online bool }
	return command.Command{Name: "doctor", Summary: "check this installation, and repair what can be repaired",
		Access: command.Unconfined,
		Long: `Checks the owners and modes of the home's files, the configuration, the programs, the sandbox, the keys, the memory, the
receipts, the audit log, the clock and the disks. On a terminal, asks before each repair; with --yes, repairs without
asking; without a terminal, only reports. The exit code is 1 if something is wrong and was not repaired.`,
		Example: "clawsh doctor\nclawsh doctor --online --output-format json",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVarP(&o.yes, "yes", "y", false, "repair without asking")
			f.BoolVar(&o.online, "online", false, "also ask the default provider for an answer")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			opts := doctor.Options{Paths: c.Paths, Environ: c.Environ, Online: o.online, Yes: o.yes,
				SetUp: func(ctx context.Context) error {
					p, err := c.Paths()
					if err == nil {
						_, err = onboard.SetUp(ctx, c.Environ, p)
					}
					return err
				}}
			if stdinIsTerminal() {
				opts.Ask = terminal.Confirm
			}
			r := doctor.Examine(ctx, opts)
			if err := r.Failure(); err != nil {
				return r, err
			}
			return r, ctx.Err()
		}}
}
