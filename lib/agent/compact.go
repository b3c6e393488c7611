package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"clawsh/lib/command"
	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Compacted says what a summary stands for, or that there is none.
type Compacted struct {
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

// WriteText writes it for people.
func (r Compacted) WriteText(w io.Writer) error {
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

// Compact has a summary written of all turns of a conversation but the newest keep.
func (o *Options) Compact(ctx context.Context, c *command.Call, keep int) (command.Result, error) {
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
func (o *Options) summarise(ctx context.Context, lo *loop.Options, keep int) (command.Result, error) {
	before := lo.Conversation
	l := loop.New(*lo)
	defer l.Close()
	s, err := l.Compact(ctx, keep)
	r := Compacted{ConversationID: lo.ConversationID, TurnsKept: len(before.Turns), TokensBefore: before.Tokens(),
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
