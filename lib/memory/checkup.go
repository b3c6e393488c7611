package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Checkup is what was found when a memory and its mirrors were looked at.
type Checkup struct {
	Path          string    `json:"path"`
	Conversations int       `json:"conversations"`
	Entries       int       `json:"entries"`
	Problems      []Problem `json:"problems"`
}

// Left are the problems that are damage, and are still there.
func (c Checkup) Left() []Problem {
	return slices.DeleteFunc(slices.Clone(c.Problems), func(p Problem) bool { return p.Rebuilt || p.Lag })
}

// CheckOptions say how far a Checkup goes, and what it mends.
type CheckOptions struct {
	Words        bool // every word of the indexes is compared, too
	Rebuild      bool // what can be made from the entries is made anew
	RepairMirror bool // mirrors that differ are written anew
}

// Writes tells whether the memory must be open for writing.
func (o CheckOptions) Writes() bool { return o.Words || o.Rebuild }

// checker is one run of Checkup.
type checker struct {
	CheckOptions
	Checkup
	store  *Store
	mirror *Mirror
}

// Checkup looks at the whole memory and its mirrors, and mends what the options say.
func (s *Store) Checkup(ctx context.Context, m *Mirror, o CheckOptions) (Checkup, error) {
	k := checker{CheckOptions: o, Checkup: Checkup{Path: s.path, Problems: []Problem{}}, store: s, mirror: m}
	err := k.run(ctx)
	return k.Checkup, err
}

func (k *checker) run(ctx context.Context) error {
	found, err := k.look()
	if err != nil {
		return err
	}
	if k.Rebuild {
		if err := k.store.Rebuild(); err != nil {
			return err
		}
		left, err := k.look()
		if err != nil {
			return err
		}
		for i, p := range found {
			found[i].Rebuilt = !slices.Contains(left, p)
		}
		for _, p := range left {
			if !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	k.Problems = append(k.Problems, found...)
	return k.mirrors(ctx)
}

func (k *checker) look() ([]Problem, error) {
	list, err := k.store.Check()
	if err != nil || !k.Words {
		return list, err
	}
	more, err := k.store.CheckWords()
	return append(list, more...), err
}

// settle is how long a record may be in the memory and not yet in its mirror.
const settle = 500 * time.Millisecond

// mirrors compares all sessions. What differs is looked at again a little later: records are mirrored after they are
// stored.
func (k *checker) mirrors(ctx context.Context) error {
	list, err := k.store.Conversations(0)
	if err != nil && len(k.Problems) > 0 {
		return nil // the file is too damaged to be compared, and that is told
	}
	if err != nil {
		return err
	}
	known, wrong := map[string]bool{}, []string(nil)
	for _, conv := range list {
		known[conv.ID] = true
		k.Conversations++
		k.Entries += conv.Entries
		d, err := k.compare(conv.ID)
		if err != nil || d.Any() {
			wrong = append(wrong, conv.ID)
		}
	}
	mirrored, err := k.mirror.Conversations()
	if err != nil {
		return err
	}
	for _, id := range mirrored {
		if !known[id] {
			wrong = append(wrong, id)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(settle):
	}
	for _, id := range wrong {
		if err := k.session(id); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) compare(id string) (Difference, error) {
	_, entries, err := k.store.Show(id)
	if err != nil {
		return Difference{}, err
	}
	return k.mirror.Compare(id, entries)
}

// session reports the mirror of a conversation, and mends it.
func (k *checker) session(id string) error {
	p := Problem{What: ProblemMirror, ConversationID: id}
	conv, entries, err := k.store.Show(id)
	if errors.Is(err, ErrNotFound) {
		// it may be all that is left of a conversation, behind a backup that was put back: nobody removes it but a
		// person
		p.Message = fmt.Sprintf("session %s is not in the memory, and cannot be restored from its mirror; remove the file if you do not need it", id)
		k.Problems = append(k.Problems, p)
		return nil
	}
	if err != nil { // an entry cannot be read: others can
		p.Message = fmt.Sprintf("session %s cannot be compared: %v", id, err)
		k.Problems = append(k.Problems, p)
		return nil
	}
	d, err := k.mirror.Compare(id, entries)
	if err == nil && !d.Any() {
		return nil
	}
	p.Message, p.Lag = fmt.Sprintf("session %s: %s", id, d), d.Behind && err == nil
	if err != nil {
		p.Message = fmt.Sprintf("session %s: %v", id, err)
	}
	if k.RepairMirror {
		if err := k.mirror.Rewrite(conv.Agent, id, entries); err != nil {
			return err
		}
		p.Rebuilt = true
	}
	k.Problems = append(k.Problems, p)
	return nil
}
