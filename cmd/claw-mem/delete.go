package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

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
		fmt.Fprintf(w, "deleted %s with %s; its receipts stay\n", terminal.Escape(c.ID), spelling.Count(c.Entries, "entry"))
	}
	return nil
}

func deleteCommand() command.Command {
	yes := false
	return command.Command{Name: "delete", Offered: []string{"session delete"}, Envelope: "memory delete", Args: "CONVERSATION_ID... --yes", Min: 1, Max: -1, Complete: conversations,
		Summary: "delete conversations permanently; receipts are kept",
		Long: `Deletes the conversations, their session mirrors, their lines in agent.jsonl, and their messages in the terminal's
history. The database is rewritten so that nothing of them remains; for a large database this takes a while. A
conversation with a running turn is not deleted, and none is during an import. A unique prefix of an id is enough.`,
		Example: "claw-mem delete conv-019df3c2 --yes\nclaw-mem delete conv-019df3c2 conv-019df4a7 --yes",
		Flags:   func(f *pflag.FlagSet) { f.BoolVar(&yes, "yes", false, "confirm the deletion") },
		Access:  forgetting,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if !yes {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "this forgets %s permanently", spelling.Count(len(c.Args), "conversation")).WithHint("to confirm, add --yes")
			}
			var r deleteResult
			err := opened(c, memory.Options{Kept: true}, func(cfg *config.Config, s *memory.Store) (err error) {
				r.Conversations, err = forget(ctx, cfg, s, c.Args)
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

// patience is how long a turn that is under way is waited for.
const patience = time.Second

// underWay says what to do about a turn that does not end.
func underWay(err error) error {
	return busyHint(err, "nothing was deleted; wait for the turn or end it, then delete again")
}

// busyHint says what to do where somebody else is at work; other errors say it themselves.
func busyHint(err error, hint string) error {
	if e := envelope.From(err); e != nil && e.Code == "conversation.busy" {
		return e.WithHint("%s", hint)
	}
	return err
}

// forget removes conversations that have no turn under way: one would bring back what was said. What was typed goes first, since only
// the memory knows what that was, and an interrupted deletion must be one that can be repeated. The copies go when the memory has let go.
func forget(ctx context.Context, cfg *config.Config, s *memory.Store, ids []string) ([]memory.Conversation, error) {
	full, err := resolved(s, ids)
	if err != nil {
		return nil, err
	}
	release, err := holding(ctx, cfg, full)
	if err != nil {
		return nil, err
	}
	defer release()
	lines := map[string]bool{}
	for _, id := range full {
		_, entries, err := s.Show(id)
		if err != nil {
			return nil, err
		}
		typed(entries, lines)
	}
	if err := forgetTyped(cfg.HistoryPath(), lines); err != nil {
		return nil, err
	}
	m := mirrorOf(cfg)
	list, err := s.DeleteAlso(func() error { return errors.Join(m.Remove(full...), resultsOf(cfg).Remove(full...)) }, full...)
	for _, conv := range list {
		err = errors.Join(err, point(s, m, conv.Agent))
	}
	return list, err
}

func resolved(s *memory.Store, ids []string) (full []string, err error) {
	for _, id := range ids {
		if id, err = s.Resolve(id); err != nil {
			return nil, err
		}
		full = append(full, id)
	}
	return full, nil
}

// holding takes conversations, in an order that lets nobody wait for us whom we wait for, and keeps imports away: of which conversations
// there is more to come, they do not know.
func holding(ctx context.Context, cfg *config.Config, ids []string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	turns := conversation.Turns{Dir: cfg.TurnsDir()}
	first, err := turns.HoldImports(ctx)
	if err != nil {
		return nil, busyHint(err, "nothing was deleted; wait for the import or end it, then delete again")
	}
	held := []func(){first}
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		r, _, err := turns.Hold(ctx, id)
		if err != nil {
			release()
			return nil, underWay(err)
		}
		held = append(held, r)
	}
	return release, nil
}
