package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/result"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type deleteResult struct {
	Conversations []memory.Conversation `json:"conversations"`
}

func (r deleteResult) WriteText(w io.Writer) error {
	for _, c := range r.Conversations {
		fmt.Fprintf(w, "deleted %s with %s; its receipts stay\n", terminal.Escape(c.ID),
			spelling.Count(c.Entries, "entry"))
	}
	return nil
}

func deleteCommand() command.Command {
	yes := false
	return command.Command{Name: "delete", Offered: []string{"session delete"}, Envelope: "memory delete",
		Args: "CONVERSATION_ID... --yes", Min: 1, Max: -1, Complete: conversations,
		Summary: "delete conversations permanently; receipts are kept",
		Long: `Deletes the conversations, their session mirrors, their lines in agent.jsonl, and their messages in the terminal's
history. The database is rewritten so that nothing of them remains; for a large database this takes a while. A
conversation with a running turn is not deleted, and none is during an import. A unique prefix of an id is enough.`,
		Example: "claw-mem delete conv-019df3c2 --yes\nclaw-mem delete conv-019df3c2 conv-019df4a7 --yes",
		Flags:   func(f *pflag.FlagSet) { f.BoolVar(&yes, "yes", false, "confirm the deletion") },
		Access:  forgetting,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if !yes {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "this deletes %s permanently",
					spelling.Count(len(c.Args), "conversation")).WithHint("to confirm, add --yes")
			}
			var r deleteResult
			err := opened(c, memory.Options{Kept: true}, func(cfg *config.Config, s *memory.Store) (err error) {
				r.Conversations, err = forgetter(cfg, s).Forget(ctx, c.Args)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// forgetter removes what was said, wherever it is kept.
func forgetter(cfg *config.Config, s *memory.Store) *memory.Forgetter {
	return &memory.Forgetter{Store: s, Mirror: mirrorOf(cfg), Results: &result.Store{Dir: cfg.ResultsDir()},
		Turns: conversation.Turns{Dir: cfg.TurnsDir()}, History: cfg.HistoryPath()}
}
