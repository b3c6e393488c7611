package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/terminal"
)

func setAside() command.Command {
	reason, yes := "", false
	return command.Command{Name: "set-aside", Offered: []string{"receipt set-aside"},
		Summary: "set a damaged receipt log aside, and begin a new one",
		Long: `Use this if the chain or the MACs of the log are broken and you have no copy to restore. No call runs until then.

The log, its parts, its head and its keys are kept, read-only. A new log with new keys begins. Its first receipt
contains the hash of a note, signed by the old and the new key, with the old log's SHA-256, its number of receipts,
what is wrong with it, and your reason.

You lose the proof that the receipts after the damage are complete and unchanged, and receipts for calls interrupted
until now. The rest stays: verify --log reports the same about the old log as today, and its public key still verifies
older checkpoints and proofs.`,
		Example: "claw-receipt set-aside --reason \"a disk lost a block, and no backup has it\"",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&reason, "reason", "", "the reason, as `TEXT` that is signed with the new log")
			f.BoolVarP(&yes, "yes", "y", false, "do not ask")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			a := making(c, cfg)
			a.Terminal = terminal.Device()
			return a
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			ask := terminal.Confirm
			if yes {
				ask = nil
			}
			return only(l.SetAside(ctx, reason, ask))
		},
	}
}
