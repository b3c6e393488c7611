package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/memory"
)

func show() command.Command {
	var place memory.Place
	return command.Command{Name: "show", Offered: []string{"memory show"}, Args: "[ID]", Max: 1,
		Complete: conversations, Summary: "show a conversation (by default the latest), or one record",
		Long:    "A unique prefix of a conversation's id is enough. The id of a record, such as a call, shows only that record.",
		Example: "claw-mem show\nclaw-mem show conv-019df3c2",
		Flags:   func(f *pflag.FlagSet) { placeFlags(f, &place) },
		Access:  looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			var r memory.Transcript
			err := reading(c, func(_ *config.Config, s *memory.Store) (err error) {
				id := ""
				if len(c.Args) == 1 {
					id = c.Args[0]
				} else if id, err = latestOf(s, "", place); err != nil {
					return err
				}
				r, err = s.Transcript(id)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}
