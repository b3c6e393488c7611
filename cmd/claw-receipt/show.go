package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
)

func show() command.Command {
	withContent := false
	return command.Command{Name: "show", Offered: []string{"receipt show"}, Access: indexing, Args: "ID", Min: 1,
		Max: 1, Complete: latest, Summary: "show one receipt",
		Long: `A unique prefix of the id is enough.

With --with-content, reads records from standard input, finds the record of the call, and checks that its arguments and
its result are those that the receipt was written for. clawsh receipt show pipes claw-mem export into it. If a secret
was withheld when the result was stored, the stored text does not match the receipt.`,
		Example: "claw-receipt show receipt-019df3c2\nclaw-mem export | claw-receipt show receipt-019df3c2 --with-content",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&withContent, "with-content", false,
				"show the call's record from standard input too, and check its hashes")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			l, err := open(c)
			if err != nil {
				return nil, err
			}
			var records io.Reader
			if withContent {
				records = c.Stdin
			}
			return either(l.Show(c.Args[0], records))
		}}
}
