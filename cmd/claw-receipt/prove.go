package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
)

func prove() command.Command {
	kept := ""
	return command.Command{Name: "prove", Offered: []string{"receipt prove"}, Args: "ID", Min: 1, Max: 1,
		Complete: latest, Summary: "write a proof that a receipt is in the log",
		Long: `Writes a self-contained proof, in the format of c2sp.org/tlog-proof, that a receipt is in the log: the receipt, its
position in the Merkle tree, and a checkpoint. claw-receipt check-proof needs only the public key to check it. The
proof reveals nothing about other receipts.`,
		Example: "claw-receipt prove receipt-019df3c2 >receipt.tlog-proof\nclaw-receipt prove receipt-019df3c2 --checkpoint checkpoint.txt >receipt.tlog-proof",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&kept, "checkpoint", "", "use the checkpoint in `FILE` instead of a new one")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access { return files(indexing(c, cfg), kept) },
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			return only(l.Prove(c.Args[0], kept))
		},
	}
}
