package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
)

func recoverCommand() command.Command {
	dry := false
	return command.Command{Name: "recover", Offered: []string{"receipt recover"}, Access: access,
		Summary: "write receipts for interrupted calls",
		Long: `Writes a failed receipt, "interrupted, outcome unknown", for every call that the gate allowed (audit.jsonl), that has
no receipt and that is over. A call is over once its permit has expired and no stage is running, or after the longest
tool timeout. Calls that may still be running are counted as pending. claw-loop does this when it starts.`,
		Example: "claw-receipt recover\nclaw-receipt recover --dry-run",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&dry, "dry-run", false, "list the calls, and write nothing")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			return only(l.Recover(dry))
		}}
}
