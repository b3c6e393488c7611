package memory

import (
	"errors"
	"fmt"

	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Counts are how many records an Importer has stored, knew already and could not store.
type Counts struct {
	Imported int `json:"imported"`
	Known    int `json:"known"`
	Failed   int `json:"failed"`
}

// A batch is stored in one transaction.
const (
	batchRecords = 500
	batchBytes   = 4 << 20
)

// Importer collects records and stores them in batches.
type Importer struct {
	Store   *Store
	Agent   string // for conversations of which no record names one
	Counts  Counts
	batch   []record.Line
	bytes   int
	touched map[string]bool
}

// Refused is a record that could not be stored, and why.
type Refused struct {
	Line record.Line
	Err  error
}

// Add takes a record, and stores the batch if it is full. An error means that the memory could store none of it.
func (k *Importer) Add(line record.Line) ([]Refused, error) {
	k.batch, k.bytes = append(k.batch, line.Clone()), k.bytes+len(line.Bytes())
	if len(k.batch) >= batchRecords || k.bytes >= batchBytes {
		return k.Flush()
	}
	return nil, nil
}

// Flush stores what was taken, in one transaction.
func (k *Importer) Flush() (refused []Refused, err error) {
	results, err := k.Store.Import(k.batch, k.Agent)
	if err != nil {
		return nil, fmt.Errorf("%s not imported: %w", spelling.Count(len(k.batch), "record"), err)
	}
	for i, r := range results {
		switch {
		case r.Err != nil:
			k.Counts.Failed++
			refused = append(refused, Refused{k.batch[i], r.Err})
		case r.Stored:
			k.Counts.Imported++
			if k.touched == nil {
				k.touched = map[string]bool{}
			}
			k.touched[r.ConversationID] = true
		default:
			k.Counts.Known++
		}
	}
	k.batch, k.bytes = nil, 0
	return refused, nil
}

// Mirror makes the mirrors of what was imported, and returns why some are incomplete. An id that can be no file name
// has none.
func (k *Importer) Mirror(m *Mirror) (incomplete []error, err error) {
	agents := map[string]bool{}
	for id := range k.touched {
		conv, entries, err := k.Store.Show(id)
		if err != nil {
			return incomplete, err
		}
		if err := m.Rewrite(conv.Agent, id, entries); err != nil && !errors.Is(err, ErrName) {
			incomplete = append(incomplete, err)
		}
		agents[conv.Agent] = true
	}
	for agent := range agents {
		if err := m.Follow(k.Store, agent); err != nil {
			return incomplete, err
		}
	}
	return incomplete, nil
}
