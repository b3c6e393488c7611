package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/spelling"
)

func usage() command.Command {
	var o memory.UsageOptions
	return command.Command{Name: "usage", Offered: []string{"usage"}, Envelope: "memory usage",
		Summary: "show how many tokens were used and what they cost",
		Long: `Counts the tokens that providers reported. Costs need prices in the configuration, [[usage.prices]]; a sum that lacks the
price of some responses says so. TIME is RFC 3339, a date, or how long ago, such as 7d. --until TIME excludes TIME;
--until DATE includes that day.`,
		Example: "claw-mem usage\nclaw-mem usage --by model --since 30d",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.By, "by", "day", "count by `KEY`: "+strings.Join(memory.UsageKeys(), ", "))
			f.StringVar(&o.Conversation, "conversation", "", "count only the conversation `ID`")
			f.StringVar(&o.Since, "since", "", "count only responses from `TIME` on")
			f.StringVar(&o.Until, "until", "", "count only responses before `TIME`")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if !slices.Contains(memory.UsageKeys(), o.By) {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--by %s: want %s", o.By,
					spelling.Or(memory.UsageKeys()))
			}
			if err := span(&o.Since, &o.Until); err != nil {
				return nil, err
			}
			var r memory.Bill
			err := reading(c, func(cfg *config.Config, s *memory.Store) (err error) {
				r, err = s.Bill(o, cfg.Usage.Currency, cfg.Cost)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}
