package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/result"
	"clawsh/lib/terminal"
)

type deleteResult struct {
	Conversations []memory.Conversation `json:"conversations"`
}

func (r deleteResult) WriteText(w io.Writer) error {
	for _, c := range r.Conversations {
		fmt.Fprintf(w, "deleted %s with %d entries; its receipts stay\n", terminal.Escape(c.ID), c.Entries)
	}
	return nil
}

func deleteCommand() command.Command {
	yes := false
	return command.Command{Name: "delete", Envelope: "memory delete", Args: "CONVERSATION_ID... --yes", Min: 1, Max: -1,
		Summary: "forget conversations for good: no byte of them stays, receipts do",
		Long: `Removes the conversations, their session mirrors, their lines in agent.jsonl, and the lines of their messages in the history of
the terminal. The database is rewritten, so that
nothing of them is left in it: of a large one, that takes a while. The beginning of an id is enough, if no other starts like it.`,
		Example: "claw-mem delete conv-019df3c2 --yes",
		Flags:   func(f *pflag.FlagSet) { f.BoolVar(&yes, "yes", false, "really do it") },
		Access:  forgetting,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if !yes {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "this forgets %d conversations for good", len(c.Args)).WithHint("if you mean it: --yes")
			}
			var r deleteResult
			err := opened(c, memory.Options{Kept: true}, func(cfg *config.Config, s *memory.Store) (err error) {
				r.Conversations, err = forget(s, mirrorOf(cfg), resultsOf(cfg), cfg.HistoryPath(), c.Args)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// resultsOf are the results of tools that were kept to be read on.
func resultsOf(cfg *config.Config) *result.Store { return &result.Store{Dir: cfg.ResultsDir()} }

// forget removes the mirrors and what was typed first: as long as the memory knows a conversation, an interrupted deletion can be repeated.
// What is written to a mirror meanwhile is removed in the end.
func forget(s *memory.Store, m *memory.Mirror, r *result.Store, history string, ids []string) ([]memory.Conversation, error) {
	var full []string
	lines := map[string]bool{}
	for _, id := range ids {
		conv, entries, err := s.Show(id)
		if err != nil {
			return nil, err
		}
		typed(entries, lines)
		full = append(full, conv.ID)
	}
	if err := errors.Join(m.Remove(full...), r.Remove(full...), forgetTyped(history, lines)); err != nil {
		return nil, err
	}
	list, err := s.Delete(full...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.Remove(full...), r.Remove(full...)); err != nil {
		return nil, err
	}
	for _, conv := range list {
		if err := point(s, m, conv.Agent); err != nil {
			return nil, err
		}
	}
	return list, nil
}
