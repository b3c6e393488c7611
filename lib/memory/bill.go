package memory

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Price is what tokens of a model cost; known is false without a price.
type Price func(provider, model string, inputTokens, outputTokens int64) (cost float64, known bool)

// Billed is what was used, and what that cost as far as there are prices; Unpriced counts the responses for which there
// is none.
type Billed struct {
	Usage
	Cost     *float64 `json:"cost,omitzero"`
	Unpriced int      `json:"unpriced,omitzero"`
}

// Bill is usage with what it cost.
type Bill struct {
	By       string   `json:"by"`
	Currency string   `json:"currency"`
	Rows     []Billed `json:"rows"`
	Total    Billed   `json:"total"`
}

// WriteText writes a table.
func (r Bill) WriteText(w io.Writer) error {
	var t terminal.Table
	t.Row(r.By, "responses", "input", "output", "cost ("+r.Currency+")")
	for _, row := range append(slices.Clone(r.Rows), r.Total) {
		name := strings.Join(strings.Fields(strings.Join([]string{row.Day, row.ConversationID, row.TurnID, row.Provider,
			row.Model}, " ")), " ")
		if name == "" {
			name = "total"
		}
		t.Row(name, row.Responses, row.InputTokens, row.OutputTokens, row.price())
	}
	return t.Write(w)
}

func (u Billed) price() string {
	switch {
	case u.Cost == nil:
		return "-"
	case u.Unpriced > 0:
		return fmt.Sprintf("%.6f, without %s", *u.Cost, spelling.Count(u.Unpriced, "response"))
	}
	return fmt.Sprintf("%.6f", *u.Cost)
}

// Bill prices what each model used, and adds it to the row in which it is counted.
func (s *Store) Bill(o UsageOptions, currency string, price Price) (Bill, error) {
	list, err := s.Usage(o)
	r := Bill{By: o.By, Currency: currency, Rows: []Billed{}}
	index := map[Usage]int{}
	for _, u := range list {
		key := Usage{Day: u.Day, ConversationID: u.ConversationID, TurnID: u.TurnID}
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
			r.Rows = append(r.Rows, Billed{Usage: key})
		}
		r.Rows[i].add(u, price)
		r.Total.add(u, price)
	}
	return r, err
}

func (u *Billed) add(more Usage, price Price) {
	u.Responses += more.Responses
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	cost, known := price(more.Provider, more.Model, more.InputTokens, more.OutputTokens)
	if !known {
		u.Unpriced += more.Responses
		return
	}
	if u.Cost == nil {
		u.Cost = new(float64)
	}
	*u.Cost += cost
}
