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
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// maxContextBytes leaves room in a request for the rest of it.
const maxContextBytes = record.MaxLineBytes / 4

type contextResult struct {
	ConversationID string           `json:"conversation_id"`
	Messages       []record.Message `json:"messages"`
}

func (r contextResult) WriteText(w io.Writer) error {
	fmt.Fprintln(w, terminal.Escape(r.ConversationID))
	for _, m := range r.Messages {
		fmt.Fprintf(w, "%s: %s\n", m.Role, terminal.Escape(m.Content))
	}
	return nil
}

// contextOptions are the flags of context.
type contextOptions struct {
	agent, conversation string
	latest              bool
	limit               int
}

func contextCommand() command.Command {
	var o contextOptions
	return command.Command{Name: "context", Envelope: "memory context", Args: "--conversation ID | --latest",
		Summary: "show the recent turns of a conversation as the messages that a model is sent",
		Example: "claw-mem context --latest --output-format json",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.conversation, "conversation", "", "the conversation `ID`, or its beginning")
			f.BoolVar(&o.latest, "latest", false, "the latest conversation")
			f.StringVar(&o.agent, "agent", "", "with --latest: of the agent `ID`")
			f.IntVar(&o.limit, "limit", 40, "at most `N` messages, in whole turns")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if o.latest == (o.conversation != "") {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "context needs either --conversation ID or --latest")
			}
			var r contextResult
			if err := reading(c, func(_ *config.Config, s *memory.Store) error { return o.load(s, &r) }); err != nil {
				return nil, err
			}
			return r, nil
		}}
}

func (o contextOptions) load(s *memory.Store, r *contextResult) (err error) {
	if o.latest {
		r.ConversationID, err = s.Latest(o.agent)
	} else {
		r.ConversationID, err = s.Resolve(o.conversation)
	}
	if err != nil {
		return err
	}
	r.Messages, err = s.Context(r.ConversationID, o.limit, maxContextBytes)
	return err
}
