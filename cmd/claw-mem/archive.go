package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/terminal"
)

type archiveResult struct {
	Conversation *memory.Conversation `json:"conversation,omitzero"`
}

func (r archiveResult) WriteText(w io.Writer) error {
	if r.Conversation == nil {
		_, err := fmt.Fprintln(w, "nothing to archive: the next message begins a new conversation")
		return err
	}
	what := "is archived: -c no longer continues it; you can still search and show it"
	if r.Conversation.ArchivedAt == "" {
		what = "is no longer archived"
	}
	_, err := fmt.Fprintf(w, "%s %s\n", terminal.Escape(r.Conversation.ID), what)
	return err
}

// archiveOptions are the flags of archive.
type archiveOptions struct {
	agent        string
	latest, undo bool
	place        memory.Place
}

func archive() command.Command {
	var o archiveOptions
	return command.Command{Name: "archive", Envelope: "memory archive", Args: "CONVERSATION_ID | --latest", Max: 1,
		Complete: conversations,
		Summary:  "archive a conversation, so that -c starts a new one",
		Long:     "A unique prefix of the id is enough.",
		Example:  "claw-mem archive --latest\nclaw-mem archive --undo conv-019df3c2",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.latest, "latest", false, "archive the latest conversation of the agent")
			f.StringVar(&o.agent, "agent", "", "with --latest: use the latest conversation of the agent `ID`")
			placeFlags(f, &o.place)
			f.BoolVar(&o.undo, "undo", false, "make the conversation one that -c continues again")
		},
		Access: clearing,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if o.latest == (len(c.Args) == 1) || o.latest && o.undo {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage",
					"want either CONVERSATION_ID or --latest; with --undo, CONVERSATION_ID")
			}
			var r archiveResult
			err := opened(c, memory.Options{Kept: true}, func(cfg *config.Config, s *memory.Store) (err error) {
				id := ""
				if o.latest {
					id, err = latestOf(s, (&keeper{agent: o.agent}).name(cfg), o.place)
					if errors.Is(err, memory.ErrNotFound) {
						return nil // the next message begins a new one already
					}
				} else {
					id = c.Args[0]
				}
				if err != nil {
					return err
				}
				if r.Conversation, err = s.Archive(id, !o.undo); err != nil {
					return err
				}
				return mirrorOf(cfg).Follow(s, r.Conversation.Agent)
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

func mirrorOf(cfg *config.Config) *memory.Mirror {
	return &memory.Mirror{Dir: filepath.Join(cfg.Home, "agents")}
}
