package main

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/receiptlog"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

func verify() command.Command {
	var q receiptlog.Question
	return command.Command{Name: "verify", Offered: []string{"receipt verify"},
		Summary: "verify the receipt log: chain, MACs, head and checkpoint",
		Long: `Replays the log and checks it against the MAC key, the signed head and, if given, a saved checkpoint.
Reports the first receipt that is not as written, and what has been proven and what has not.

Exit code 0 means that the log reaches the level of --require. Each level includes those before it:

  chain        every receipt is unchanged and in its place
  mac          every receipt was written by someone with the key
  head         no receipt is missing at the end
  checkpoint   the log begins with the receipts that the checkpoint covers

The default is the strongest level your keys allow: head, or checkpoint with --against. For a log without any key
it is chain. The log of a home that has lost its keys does not pass.

Results are counted by who vouches for them: attested (sealed by claw-exec), unattested (made by something else, or
changed on the way), interrupted (written by claw-receipt recover), and those from before results were sealed.`,
		Example: "claw-receipt verify\nclaw-receipt verify --against checkpoint.txt\nclaw-receipt verify --log copy.log --key receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&q.Require, "require", "",
				"fail unless the log reaches `LEVEL`: chain, mac, head or checkpoint")
			f.BoolVar(&q.Attested, "attested", false,
				"fail if a result is unattested, that is, not sealed by claw-exec")
			f.StringVar(&q.Against, "against", "", "require the log to extend the checkpoint(s) in `FILE`")
			f.StringVar(&q.Key, "key", "",
				"check signatures with the public `KEY`, or with the keys in a file; do not check MACs")
			f.StringVar(&q.Log, "log", "",
				"verify the log in `FILE`, and its parts beside it, instead of this home's log")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			return files(looking(c, cfg), q.Against, q.Key, q.Log, q.Log+".d")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) { return ask(c, q) },
	}
}

func ask(c *command.Call, q receiptlog.Question) (command.Result, error) {
	if q.Require != "" && !slices.Contains(receipt.Levels, q.Require) {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--require %s: want %s", terminal.Escape(q.Require),
			spelling.Or(receipt.Levels))
	}
	for name, value := range map[string]string{"against": q.Against, "key": q.Key, "log": q.Log} {
		if value == "" && c.Changed(name) { // a variable of a script that is not set must not ask for less
			return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--%s is empty", name)
		}
	}
	q.Config = c.Config
	return either(q.Verify())
}
