package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/spelling"
)

type clearResult struct {
	Removed int `json:"removed"`
}

func (r clearResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "removed %s; their receipts stay\n", spelling.Count(r.Removed, "conversation"))
	return err
}

func clearAll() command.Command {
	yes := false
	return command.Command{Name: "clear", Offered: []string{"memory clear"}, Args: "--yes",
		Summary: "delete all conversations permanently, with their mirrors and the terminal's history",
		Example: "claw-mem clear --yes",
		Flags:   func(f *pflag.FlagSet) { f.BoolVar(&yes, "yes", false, "confirm the deletion") },
		Access:  forgetting,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if !yes {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "this permanently deletes all conversations").
					WithHint("to confirm, add --yes")
			}
			var r clearResult
			err := opened(c, memory.Options{Kept: true}, func(cfg *config.Config, s *memory.Store) (err error) {
				r.Removed, err = forgetter(cfg, s).ForgetAll(ctx)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}
