package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
)

func checkpoint() command.Command {
	old := ""
	return command.Command{Name: "checkpoint", Offered: []string{"receipt checkpoint"},
		Summary: "write a signed checkpoint of the log, to be kept elsewhere",
		Long: `Writes a signed checkpoint: the number of receipts and the root of a Merkle tree over them, in the format of
c2sp.org/tlog-checkpoint. Only receipts added since the tree was last stored are verified; claw-receipt verify checks all.

Keep the checkpoint where nobody who can write to this home can change it: in git, in a mail, on another host. Then
claw-receipt verify --against shows whether these receipts are all still there, even if the keys were stolen.

With --consistency, writes a proof that the log still begins with the receipts of the checkpoint OLD: both checkpoints,
and the hashes that link them. claw-receipt check-proof needs only the public key to check it, not the log.`,
		Example: "claw-receipt checkpoint >checkpoint.txt\nclaw-receipt verify --against checkpoint.txt\nclaw-receipt checkpoint --consistency checkpoint.txt >consistency.txt",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&old, "consistency", "", "prove that the log extends the checkpoint in the file `OLD`")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access { return files(indexing(c, cfg), old) },
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			if c.Changed("consistency") {
				return only(l.Extending(old))
			}
			return only(l.Checkpoint())
		}}
}
