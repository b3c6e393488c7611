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
	"clawsh/lib/terminal"
)

type listResult struct {
	Conversations []memory.Conversation `json:"conversations"`
	More          bool                  `json:"more,omitzero"`
}

func (l listResult) WriteText(w io.Writer) error {
	var t terminal.Table
	for _, c := range l.Conversations {
		turns := spelling.Count(c.Turns, "turn")
		if c.Turns == 1 {
			turns = "1 turn"
		}
		t.Row(c.ID, c.UpdatedAt, turns, c.Title)
	}
	if len(l.Conversations) == 0 {
		t.Row("no conversations yet")
	}
	if err := t.Write(w); err != nil || !l.More {
		return err
	}
	_, err := fmt.Fprintln(w, "there are more; --limit 0 lists all")
	return err
}

func list() command.Command {
	limit, archived := 0, false
	return command.Command{Name: "list", Offered: []string{"memory list", "session list"},
		Summary: "list conversations, latest first", Example: "claw-mem list --limit 10\nclaw-mem list --archived",
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&limit, "limit", 50, "list the latest `N` (0: all)")
			f.BoolVar(&archived, "archived", false, "list only archived conversations")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if limit < 0 {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--limit must not be negative")
			}
			var l listResult
			err := reading(c, func(_ *config.Config, s *memory.Store) (err error) {
				if limit > 0 {
					limit++ // to see whether there are more
				}
				l.Conversations, err = s.Listed(archived, limit)
				if l.More = limit > 0 && len(l.Conversations) == limit; l.More {
					l.Conversations = l.Conversations[:limit-1]
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			return l, nil
		}}
}

// offered is how many conversations the shell's completion offers.
const offered = 200

// conversations are the values of an argument or a flag that names a conversation, the latest first.
func conversations(_ context.Context, c *command.Call) (list []command.Value) {
	err := reading(c, func(_ *config.Config, s *memory.Store) error {
		all, err := s.Listed(false, offered)
		for _, v := range all {
			list = append(list, command.Value{Name: v.ID, Description: v.UpdatedAt + " " + v.Title})
		}
		return err
	})
	if err != nil {
		return nil
	}
	return list
}
