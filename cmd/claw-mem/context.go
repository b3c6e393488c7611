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
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// maxContextBytes leaves room in a request for the rest of it.
const maxContextBytes = record.MaxLineBytes / 4

type contextResult struct {
	ConversationID string           `json:"conversation_id"`
	Messages       []record.Message `json:"messages"`
	Turns          []contextTurn    `json:"turns"`
	Summary        *memory.Summary  `json:"summary,omitzero"`
	Tokens         int              `json:"tokens"`
	LeftOut        int              `json:"left_out"`
}

// contextTurn says which messages are a turn's: so many, behind those of the turn before, or behind the summary.
type contextTurn struct {
	TurnID       string `json:"turn_id"`
	LastRecordID string `json:"last_record_id"`
	Messages     int    `json:"messages"`
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
	limit, tokens       int
	place               memory.Place
}

func contextCommand() command.Command {
	var o contextOptions
	return command.Command{Name: "context", Envelope: "memory context", Args: "--conversation ID | --latest",
		Summary: "show which part of a conversation a model would get",
		Long: `Shows the newest summary of the conversation, if any, and the turns after it, as many as fit into the budget. If they do
not fit, tool results are shortened first, then turns are left out; both begin with the oldest. The newest turn is
always included. Tokens are estimated: 1 for 4 ASCII bytes or 2 other bytes, and 8 for each message and each call.`,
		Example: "claw-mem context --latest\nclaw-mem context --conversation conv-019df3c2 --output-format json",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.conversation, "conversation", "", "show the conversation `ID` (a unique prefix is enough)")
			f.BoolVar(&o.latest, "latest", false, "show the latest conversation")
			f.StringVar(&o.agent, "agent", "", "with --latest: use the latest conversation of the agent `ID`")
			placeFlags(f, &o.place)
			f.IntVar(&o.limit, "limit", 0,
				"show at most `N` messages, in whole turns, instead of limits.context_messages (0: no limit)")
			f.IntVar(&o.tokens, "max-tokens", 0,
				"show at most `N` estimated tokens, instead of context.max_tokens (0: no limit)")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if o.latest == (o.conversation != "") {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage",
					"context needs either --conversation ID or --latest")
			}
			if o.limit < 0 || o.tokens < 0 {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage",
					"--limit and --max-tokens must not be negative")
			}
			var r contextResult
			if err := reading(c, func(cfg *config.Config,
				s *memory.Store) error {
				return o.load(s, o.budget(c, cfg), &r)
			}); err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// budget is the configured one, but for what flags say.
func (o contextOptions) budget(c *command.Call, cfg *config.Config) conversation.Budget {
	b := conversation.Budget{Messages: cfg.Limits.ContextMessages, Tokens: cfg.Context.MaxTokens,
		Bytes: maxContextBytes}
	if c.Changed("limit") {
		b.Messages = o.limit
	}
	if c.Changed("max-tokens") {
		b.Tokens = o.tokens
	}
	return b
}

func (o contextOptions) load(s *memory.Store, b conversation.Budget, r *contextResult) (err error) {
	if o.latest {
		r.ConversationID, err = latestOf(s, o.agent, o.place)
	} else {
		r.ConversationID, err = s.Resolve(o.conversation)
	}
	if err != nil {
		return err
	}
	c, err := s.Context(r.ConversationID, b)
	if err != nil {
		return err
	}
	r.Messages, r.Turns, r.Summary, r.Tokens, r.LeftOut = c.Messages(), []contextTurn{}, c.Summarised, c.Tokens(),
		c.LeftOut
	for _, t := range c.Turns {
		r.Turns = append(r.Turns, contextTurn{TurnID: t.ID, LastRecordID: t.Record, Messages: len(t.Messages)})
	}
	return nil
}
