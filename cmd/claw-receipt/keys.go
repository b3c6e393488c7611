package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
)

// keyOptions are the flags of keys.
type keyOptions struct {
	create, lost, rotate, accept bool
	missing                      int
}

func keys() command.Command {
	var o keyOptions
	return command.Command{Name: "keys", Offered: []string{"receipt keys"},
		Summary: "show the public keys of the receipt log, or manage its keys",
		Long: `Prints the public keys that verify heads, checkpoints and proofs: the current key first, then retired keys with their
retirement date. Give them to anyone who verifies your receipts. The secret keys stay in keys/receipt, which no other
program can read.

--rotate makes a new MAC key and a new signing key. The old signing key is deleted; the old MAC key is kept, to verify
the receipts made with it.

--accept signs a new head for a log that has lost its head. Inspect the log first: its chain and MACs must be good, but
nothing can show whether receipts are missing at its end. If a good head says that N receipts are missing, and they are
lost, add --missing N; earlier calls are not reported as interrupted.

--create refuses to make keys if the gate has allowed calls and there are no receipts, because they must have been
removed. Add --lost to begin a new log nevertheless.`,
		Example: "claw-receipt keys >receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.create, "create", false, "create the keys if there are none, as clawsh init does")
			f.BoolVar(&o.lost, "lost", false, "with --create: the old receipts and keys are lost; begin a new log")
			f.BoolVar(&o.rotate, "rotate", false, "replace the keys with new ones")
			f.BoolVar(&o.accept, "accept", false, "sign a new head for the log as it is")
			f.IntVar(&o.missing, "missing", 0, "with --accept: `N` receipts at the end are known to be lost")
		},
		Access: making,
		Run:    func(_ context.Context, c *command.Call) (command.Result, error) { return o.run(c) },
	}
}

func (o *keyOptions) run(c *command.Call) (command.Result, error) {
	l, err := open(c)
	if err != nil {
		return nil, err
	}
	switch {
	case o.create && o.rotate || o.rotate && o.accept || o.create && o.accept:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--create, --rotate and --accept cannot be combined")
	case o.missing < 0 || o.missing > 0 && !o.accept:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--missing needs --accept, and must not be negative")
	case o.lost && !o.create:
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--lost needs --create")
	case o.create:
		return only(l.CreateKeys(o.lost))
	case o.rotate:
		return only(l.RotateKeys())
	case o.accept:
		return only(l.Accept(o.missing))
	}
	return only(l.Keys(false))
}
