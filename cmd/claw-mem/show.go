package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/conversation"
	"clawsh/lib/memory"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

type showResult struct {
	Conversation *memory.Conversation `json:"conversation"`
	Entries      []memory.Entry       `json:"entries"`
}

func (r showResult) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s  agent %s  %s\n", terminal.Escape(r.Conversation.ID), terminal.Escape(r.Conversation.Agent),
		r.Conversation.StartedAt)
	for _, e := range r.Entries {
		if e.Kind == record.KindFinal && e.Content == "" {
			if why := ending(e); why != "" {
				fmt.Fprintf(w, "\n%s  %s\n", e.TS, why)
			}
			continue // the same as the response before it
		}
		who := e.Role
		if e.Kind == record.KindSummary {
			who = "summary of the earlier turns, written by a model"
		}
		if e.Tool != "" {
			who += " " + terminal.Escape(e.Tool)
		}
		fmt.Fprintf(w, "\n%s  %s\n", e.TS, who)
		if e.Content != "" {
			fmt.Fprintln(w, terminal.Sanitize(e.Content))
		}
		for _, c := range e.ToolCalls {
			fmt.Fprintf(w, "calls %s %s\n", terminal.Escape(c.Name), terminal.Escape(string(c.Args)))
			if !r.answered(c.ID) {
				fmt.Fprintf(w, "  no result: %s\n", conversation.Interrupted)
			}
		}
	}
	return nil
}

// answered tells whether the result of a call is stored.
func (r showResult) answered(call string) bool {
	return slices.ContainsFunc(r.Entries, func(e memory.Entry) bool {
		return slices.ContainsFunc(e.ToolResults, func(t memory.Result) bool { return t.ID == call })
	})
}

// ending is why a turn ended without an answer, empty if it has one.
func ending(e memory.Entry) string {
	var final struct {
		StopReason string `json:"stop_reason"`
		Error      string `json:"error"`
	}
	if record.DecodeOpen(e.Metadata, &final) != nil || final.StopReason == "" ||
		final.StopReason == record.StopFinalText {
		return ""
	}
	return fmt.Sprintf("the turn ended without an answer (%s): %s", terminal.Escape(final.StopReason),
		terminal.Escape(final.Error))
}

func show() command.Command {
	var place memory.Place
	return command.Command{Name: "show", Offered: []string{"memory show"}, Args: "[ID]", Max: 1,
		Complete: conversations, Summary: "show a conversation (by default the latest), or one record",
		Long:    "A unique prefix of a conversation's id is enough. The id of a record, such as a call, shows only that record.",
		Example: "claw-mem show\nclaw-mem show conv-019df3c2",
		Flags:   func(f *pflag.FlagSet) { placeFlags(f, &place) },
		Access:  looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			var r showResult
			err := reading(c, func(_ *config.Config, s *memory.Store) (err error) {
				id := ""
				if len(c.Args) == 1 {
					id = c.Args[0]
				} else if id, err = latestOf(s, "", place); err != nil {
					return err
				}
				r.Conversation, r.Entries, err = s.Show(id)
				if !errors.Is(err, memory.ErrNotFound) {
					return err
				}
				conv, entries, noRecord := s.Record(id)
				if noRecord != nil {
					return err
				}
				r.Conversation, r.Entries = conv, entries
				return nil
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}
