package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/receiptlog"
)

func checkProof() command.Command {
	key, path, kept := "", "", ""
	return command.Command{Name: "check-proof", Offered: []string{"receipt check-proof"}, Args: "FILE --key KEY",
		Min: 1, Max: 1, Summary: "check a proof that a receipt is in a log, or that a log extends a checkpoint",
		Long: `Checks a proof by claw-receipt prove or claw-receipt checkpoint --consistency. It needs the public key of the log and
nothing else: no home, no log. FILE may be - for standard input.

KEY is the key itself, or a file of keys as claw-receipt keys prints them. With --against, the proof must be for the
checkpoint that you saved; for a consistency proof, that is the older of the two.`,
		Example: "claw-receipt check-proof receipt.tlog-proof --key receipt.pub\nclaw-receipt check-proof consistency.txt --key receipt.pub --against checkpoint.txt",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&key, "key", "", "the public `KEY` of the log, or a file with it")
			f.StringVar(&kept, "against", "", "require the proof to be for the checkpoint in `FILE`")
		},
		Access: func(c *command.Call, _ *config.Config) confine.Access {
			if len(c.Args) > 0 {
				path = c.Args[0]
			}
			return files(confine.Access{}, path, key, kept)
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if key == "" {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage",
					"check-proof needs --key KEY: the proof cannot say which key to trust")
			}
			if kept == "" && c.Changed("against") { // a variable of a script that is not set must not ask for less
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--against is empty")
			}
			return receiptlog.CheckProof(c.Args[0], c.Stdin, key, kept)
		}}
}
