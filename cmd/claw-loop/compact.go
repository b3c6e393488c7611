package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/agent"
	"clawsh/lib/command"
	"clawsh/lib/envelope"
)

func compact() command.Command {
	var o agent.Options
	keep := 1
	return command.Command{Name: "compact", Offered: []string{"session compact"},
		Summary: "replace old turns of a conversation with a summary in later requests",
		Long: `Has a model write a summary of all turns but the newest, which is sent to models instead of these turns from then on. The
turns themselves are kept; memory show and memory search still find them. An existing summary is summarised together
with the turns after it. With context.compact_at_tokens, this happens automatically before a turn.`,
		Example: "clawsh session compact",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.Conversation, "conversation", "",
				"compact the conversation `ID` (a unique prefix is enough) instead of the latest")
			f.StringVar(&o.Agent, "agent", "",
				"without --conversation: compact the latest conversation of the agent `ID`")
			f.StringVar(&o.Provider, "provider", "", "ask the provider `NAME`")
			f.StringVar(&o.Model, "model", "", "use the model `NAME`")
			f.IntVar(&keep, "keep", 1, "keep the newest `N` turns")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if keep < 1 {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--keep %d: want 1 or more", keep)
			}
			if c.Changed("conversation") && o.Conversation == "" {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--conversation is empty").
					WithHint("clawsh memory list shows the ids")
			}
			o.Latest = o.Conversation == ""
			return o.Compact(ctx, c, keep)
		}}
}
