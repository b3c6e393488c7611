package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// compactResult says what a summary stands for, or that there is none.
type compactResult struct {
	ConversationID  string       `json:"conversation_id"`
	Compacted       bool         `json:"compacted"`
	Turns           int          `json:"turns"` // that the summary stands for, beside an earlier one
	TurnsKept       int          `json:"turns_kept"`
	TokensBefore    int          `json:"tokens_before"`
	TokensAfter     int          `json:"tokens_after"`
	SummaryID       string       `json:"summary_id,omitzero"`
	ThroughTurnID   string       `json:"through_turn_id,omitzero"`
	ThroughRecordID string       `json:"through_record_id,omitzero"`
	Content         string       `json:"content,omitzero"`
	Usage           record.Usage `json:"usage"`
}

func (r compactResult) WriteText(w io.Writer) error {
	id := terminal.Escape(r.ConversationID)
	if !r.Compacted {
		_, err := fmt.Fprintf(w,
			"%s is too small to compact: it has %s outside of a summary, and the newest is always kept\n", id,
			spelling.Count(r.TurnsKept, "turn"))
		return err
	}
	_, err := fmt.Fprintf(w, "%s: newly in the summary: %d, kept as they are: %d (turns); about %s, before %d\n", id,
		r.Turns, r.TurnsKept, spelling.Count(r.TokensAfter, "token"), r.TokensBefore)
	if err == nil && r.TokensAfter >= r.TokensBefore {
		_, err = fmt.Fprintln(w, "the summary would not be shorter than the turns")
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "\n%s\n", terminal.Sanitize(r.Content))
	}
	return err
}

func compact() command.Command {
	var o options
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
			return o.compact(ctx, c, keep)
		}}
}

func (o *options) compact(ctx context.Context, c *command.Call, keep int) (command.Result, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	lo, err := o.resolve(cfg, c)
	if err != nil {
		return nil, err
	}
	siblings := sibling.New(cfg, c.Environ, os.Stderr)
	lo.Starter = siblings
	if err := o.resume(ctx, siblings, lo, 0); err != nil {
		return nil, err
	}
	if lo.ConversationID == "" {
		return nil, envelope.Errorf(envelope.ExitError, "not_found", "there is no conversation to compact").
			WithHint("clawsh session list shows them; --conversation names one")
	}
	release, _, err := conversation.Turns{Dir: cfg.TurnsDir(), Waiting: waiting(c)}.Hold(ctx, lo.ConversationID)
	if err != nil {
		return nil, err
	}
	defer release()
	o.Conversation, o.Latest = lo.ConversationID, false // what was read of it before may be deleted now
	if err := o.resume(ctx, siblings, lo, 0); err != nil {
		return nil, err
	}
	return o.summarise(ctx, lo, keep)
}

// summarise has the summary of a conversation written that is ours.
func (o *options) summarise(ctx context.Context, lo *loop.Options, keep int) (command.Result, error) {
	before := lo.Conversation
	l := loop.New(*lo)
	defer l.Close()
	s, err := l.Compact(ctx, keep)
	r := compactResult{ConversationID: lo.ConversationID, TurnsKept: len(before.Turns), TokensBefore: before.Tokens(),
		TokensAfter: before.Tokens()}
	switch {
	case errors.Is(err, loop.ErrSmall):
		return r, nil
	case err != nil:
		l.Kill()
		err = fmt.Errorf("compact %s: %w", lo.ConversationID, err)
		if stage := new(loop.StageError); errors.As(err, &stage) {
			err = envelope.Errorf(envelope.ExitError, "stage.died", "%w", err)
		}
		return nil, err
	}
	after := conversation.Conversation{Summary: s.Content, Turns: before.Turns[s.Turns:]}
	r.Compacted, r.Turns, r.TurnsKept, r.TokensAfter = true, s.Turns, len(after.Turns), after.Tokens()
	r.SummaryID, r.ThroughTurnID, r.ThroughRecordID, r.Content, r.Usage = s.ID, s.ThroughTurnID, s.ThroughRecordID,
		s.Content, s.Usage
	return r, nil
}
