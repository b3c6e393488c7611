package memory

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"clawsh/lib/conversation"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// Transcript is a conversation with its records, or with one of them.
type Transcript struct {
	Conversation *Conversation `json:"conversation"`
	Entries      []Entry       `json:"entries"`
}

// Transcript is the conversation with this id, or the only one whose id begins so; else the record with this id.
func (s *Store) Transcript(id string) (r Transcript, err error) {
	r.Conversation, r.Entries, err = s.Show(id)
	if errors.Is(err, ErrNotFound) {
		if c, entries, noRecord := s.Record(id); noRecord == nil {
			return Transcript{c, entries}, nil
		}
	}
	return r, err
}

// WriteText writes what was said and done, for people.
func (r Transcript) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s  agent %s  %s\n", terminal.Escape(r.Conversation.ID),
		terminal.Escape(r.Conversation.Agent), r.Conversation.StartedAt)
	for _, e := range r.Entries {
		if e.Kind == record.KindFinal && e.Content == "" {
			if why := ending(e); why != "" {
				_, err = fmt.Fprintf(w, "\n%s  %s\n", e.TS, why)
			}
			continue // the same as the response before it
		}
		err = r.write(w, e)
	}
	return err
}

func (r Transcript) write(w io.Writer, e Entry) error {
	who := e.Role
	if e.Kind == record.KindSummary {
		who = "summary of the earlier turns, written by a model"
	}
	if e.Tool != "" {
		who += " " + terminal.Escape(e.Tool)
	}
	_, err := fmt.Fprintf(w, "\n%s  %s\n", e.TS, who)
	if e.Content != "" {
		_, err = fmt.Fprintln(w, terminal.Sanitize(e.Content))
	}
	for _, c := range e.ToolCalls {
		_, err = fmt.Fprintf(w, "calls %s %s\n", terminal.Escape(c.Name), terminal.Escape(string(c.Args)))
		if !r.answered(c.ID) {
			_, err = fmt.Fprintf(w, "  no result: %s\n", conversation.Interrupted)
		}
	}
	return err
}

// answered tells whether the result of a call is stored.
func (r Transcript) answered(call string) bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return slices.ContainsFunc(e.ToolResults, func(t Result) bool { return t.ID == call })
	})
}

// ending is why a turn ended without an answer, empty if it has one.
func ending(e Entry) string {
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
