package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type searchResult struct {
	Query string       `json:"query"`
	Hits  []memory.Hit `json:"hits"`
	Next  string       `json:"next,omitzero"`
}

func (r searchResult) WriteText(w io.Writer) error {
	for _, h := range r.Hits {
		fmt.Fprintf(w, "%s  %s  %s: %s\n", terminal.Escape(h.ConversationID), h.TS, h.Role,
			h.Mark("«", "»", terminal.Escape))
	}
	return nil
}

const searchHelp = `Finds entries that contain all words of QUERY, ignoring case: first entries with the whole words, best match first; then
entries with parts of words, newest first.

  word         anything between blanks
  "a phrase"   these words next to each other (quote it for the shell: '"a phrase"')
  begin*       words that begin with this
  -word        entries without this word; also: NOT word
  a OR b       entries with either, or both

Anything else is plain text, never an error. If QUERY begins with a minus sign, write -- before it. TIME is RFC 3339, a
date, or how long ago: 30m, 24h, 7d, 2w. If there are more hits, standard error says how to continue. The exit code is 1
if nothing is found.`

func search() command.Command {
	var o memory.SearchOptions
	var kind string
	return command.Command{Name: "search", Offered: []string{"memory search"}, Args: "QUERY", Min: 1, Max: -1,
		Summary: "search all conversations",
		Long:    searchHelp,
		Example: "claw-mem search 'connection refused'\nclaw-mem search --role tool --since 7d '\"no such file\" deploy* -test'",
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&o.Limit, "limit", memory.DefaultHits, "show at most `N`, up to 200")
			f.StringVar(&o.ConversationID, "conversation", "",
				"search only the conversation `ID` (a unique prefix is enough)")
			f.StringVar(&o.Role, "role", "", "search only what `ROLE` said: user, assistant or tool")
			f.StringVar(&kind, "kind", "", "search only records of `KIND`: "+spelling.Or(record.KindsWith(record.Searched)))
			f.StringVar(&o.Tool, "tool", "", "search only results of the tool `NAME`")
			f.StringVar(&o.Provider, "provider", "", "search only answers of the provider `NAME`")
			f.StringVar(&o.Since, "since", "", "search only entries from `TIME` on")
			f.StringVar(&o.Until, "until", "", "search only entries up to `TIME`; a date includes that day")
			f.StringVar(&o.After, "after", "", "continue after `CURSOR`, the next of the previous page")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			o.Kind = record.Kind(kind)
			return runSearch(c, o)
		}}
}

func runSearch(c *command.Call, o memory.SearchOptions) (command.Result, error) {
	if err := checkSearch(o); err != nil {
		return nil, err
	}
	r := searchResult{Query: strings.Join(c.Args, " ")}
	err := reading(c, func(_ *config.Config, s *memory.Store) (err error) {
		if o.ConversationID != "" {
			if o.ConversationID, err = s.Resolve(o.ConversationID); err != nil {
				return err
			}
		}
		found, err := s.Find(r.Query, o)
		r.Hits, r.Next = found.Hits, found.Next
		return err
	})
	switch {
	case errors.Is(err, memory.ErrEmptyQuery):
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "%w", err).
			WithHint("usage: clawsh memory search QUERY")
	case errors.Is(err, memory.ErrTime):
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "%w", err)
	case errors.Is(err, memory.ErrCursor):
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "search --after: %w", err).
			WithHint("use the same query and filters as for the previous page")
	case err != nil:
		return nil, err
	case len(r.Hits) == 0 && r.Next != "":
		return r, envelope.Errorf(envelope.ExitError, "not_found", "nothing found so far for %q",
			terminal.Escape(r.Query)).
			WithHint("search further back with --after %s", r.Next)
	case len(r.Hits) == 0:
		return r, envelope.Errorf(envelope.ExitError, "not_found", "nothing found for %q", terminal.Escape(r.Query))
	case r.Next != "" && !c.JSON():
		fmt.Fprintf(c.Stderr, "there may be more; continue with --after %s\n", r.Next)
	}
	return r, nil
}

// checkSearch refuses filters that can give nothing for what they are.
func checkSearch(o memory.SearchOptions) error {
	roles := []string{"", "user", "assistant", "tool"}
	kinds := record.KindsWith(record.Searched)
	switch {
	case o.Limit < 1 || o.Limit > memory.MaxHits:
		return envelope.Errorf(envelope.ExitUsage, "usage", "search --limit %d: want 1 to %d", o.Limit, memory.MaxHits)
	case !slices.Contains(roles, o.Role):
		return envelope.Errorf(envelope.ExitUsage, "usage", "search --role %q: want user, assistant or tool", o.Role)
	case o.Kind != "" && !slices.Contains(kinds, o.Kind):
		return envelope.Errorf(envelope.ExitUsage, "usage", "search --kind %q: want %s", o.Kind, spelling.Or(kinds))
	}
	return nil
}
