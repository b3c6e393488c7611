package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// usageRow is what was used, and what that cost as far as the configuration has prices; Unpriced counts the responses
// for which it has none.
type usageRow struct {
	memory.Usage
	Cost     *float64 `json:"cost,omitzero"`
	Unpriced int      `json:"unpriced,omitzero"`
}

type usageResult struct {
	By       string     `json:"by"`
	Currency string     `json:"currency"`
	Rows     []usageRow `json:"rows"`
	Total    usageRow   `json:"total"`
}

func (r usageResult) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\tresponses\tinput\toutput\tcost (%s)\n", r.By, terminal.Escape(r.Currency))
	for _, row := range append(slices.Clone(r.Rows), r.Total) {
		name := strings.TrimSpace(strings.Join([]string{row.Day, row.ConversationID, row.TurnID, row.Provider,
			row.Model}, " "))
		if name == "" {
			name = "total"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", terminal.Escape(strings.Join(strings.Fields(name), " ")), row.Responses,
			row.InputTokens, row.OutputTokens, row.price())
	}
	return t.Flush()
}

func (u usageRow) price() string {
	switch {
	case u.Cost == nil:
		return "-"
	case u.Unpriced > 0:
		return fmt.Sprintf("%.6f, without %s", *u.Cost, spelling.Count(u.Unpriced, "response"))
	}
	return fmt.Sprintf("%.6f", *u.Cost)
}

func usage() command.Command {
	var o memory.UsageOptions
	return command.Command{Name: "usage", Offered: []string{"usage"}, Envelope: "memory usage",
		Summary: "show how many tokens were used and what they cost",
		Long: `Counts the tokens that providers reported. Costs need prices in the configuration, [[usage.prices]]; a sum that lacks the
price of some responses says so. TIME is RFC 3339, a date, or how long ago, such as 7d. --until TIME excludes TIME;
--until DATE includes that day.`,
		Example: "claw-mem usage\nclaw-mem usage --by model --since 30d",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.By, "by", "day", "count by `KEY`: "+strings.Join(memory.UsageKeys(), ", "))
			f.StringVar(&o.Conversation, "conversation", "", "count only the conversation `ID`")
			f.StringVar(&o.Since, "since", "", "count only responses from `TIME` on")
			f.StringVar(&o.Until, "until", "", "count only responses before `TIME`")
		},
		Access: looking,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if !slices.Contains(memory.UsageKeys(), o.By) {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--by %s: want one of %s", o.By,
					strings.Join(memory.UsageKeys(), ", "))
			}
			if err := span(&o.Since, &o.Until); err != nil {
				return nil, err
			}
			r := usageResult{By: o.By, Rows: []usageRow{}}
			err := reading(c, func(cfg *config.Config, s *memory.Store) error {
				r.Currency = cfg.Usage.Currency
				list, err := s.Usage(o)
				r.add(cfg, list)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// add prices what one model used, and adds that to the row that it is counted in.
func (r *usageResult) add(cfg *config.Config, list []memory.Usage) {
	index := map[memory.Usage]int{}
	for _, u := range list {
		key := memory.Usage{Day: u.Day, ConversationID: u.ConversationID, TurnID: u.TurnID}
		if r.By == "provider" || r.By == "model" {
			key.Provider = u.Provider
		}
		if r.By == "model" {
			key.Model = u.Model
		}
		i, ok := index[key]
		if !ok {
			i = len(r.Rows)
			index[key] = i
			r.Rows = append(r.Rows, usageRow{Usage: key})
		}
		cost, known := cfg.Cost(u.Provider, u.Model, u.InputTokens, u.OutputTokens)
		r.Rows[i].count(u, cost, known)
		r.Total.count(u, cost, known)
	}
}

func (u *usageRow) count(more memory.Usage, cost float64, known bool) {
	u.Responses += more.Responses
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	if !known {
		u.Unpriced += more.Responses
		return
	}
	if u.Cost == nil {
		u.Cost = new(float64)
	}
	*u.Cost += cost
}
