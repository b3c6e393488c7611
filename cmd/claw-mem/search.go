package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/terminal"
)

type searchResult struct {
	Query string       `json:"query"`
	Hits  []memory.Hit `json:"hits"`
}

func (r searchResult) WriteText(w io.Writer) error {
	for _, h := range r.Hits {
		fmt.Fprintf(w, "%s  %s  %s: %s\n", terminal.Escape(h.ConversationID), h.TS, h.Role, h.Mark("«", "»", terminal.Escape))
	}
	return nil
}

func search() command.Command {
	var o memory.SearchOptions
	return command.Command{Name: "search", Envelope: "memory search", Args: "QUERY", Min: 1, Max: -1, Summary: "search what was said",
		Long: "Finds entries that hold all words of QUERY, whole words before parts of words, newest first. QUERY is plain text.\n" +
			"Exit code 1 if nothing is found.",
		Example: "claw-mem search aardvark adapter",
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&o.Limit, "limit", 20, "show at most `N`")
			f.StringVar(&o.ConversationID, "conversation", "", "only in the conversation `ID`")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			r := searchResult{Query: strings.Join(c.Args, " ")}
			err := reading(c, func(_ *config.Config, s *memory.Store) (err error) {
				r.Hits, err = s.Search(r.Query, o)
				return err
			})
			switch {
			case errors.Is(err, memory.ErrEmptyQuery):
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "search: %w", err).WithHint("clawsh memory search QUERY")
			case err != nil:
				return nil, err
			case len(r.Hits) == 0:
				r.Hits = []memory.Hit{}
				return r, envelope.Errorf(envelope.ExitError, "not_found", "nothing found for %q", terminal.Escape(r.Query))
			}
			return r, nil
		}}
}
