package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/result"
)

// Forgetter removes conversations wherever something of them is kept.
type Forgetter struct {
	Store   *Store
	Mirror  *Mirror
	Results *result.Store // of tools, that were kept to be read on
	Turns   conversation.Turns
	History string // of what was typed at the terminal
}

// Patience is how long a turn or an import that is under way is waited for.
const Patience = time.Second

// deleteAgain says what to do about a turn that does not end.
const deleteAgain = "nothing was deleted; wait for the turn or end it, then delete again"

// Busy says what to do where somebody else is at work; other errors say it themselves.
func Busy(err error, hint string) error {
	if e := envelope.From(err); e != nil && e.Code == "conversation.busy" {
		return e.WithHint("%s", hint)
	}
	return err
}

// Forget removes conversations that have no turn under way: one would bring back what was said. What was typed goes
// first, since only the memory knows what that was, and an interrupted deletion must be one that can be repeated. The
// copies go when the memory has let go.
func (f *Forgetter) Forget(ctx context.Context, ids []string) ([]Conversation, error) {
	full, err := f.resolve(ids)
	if err != nil {
		return nil, err
	}
	release, err := f.hold(ctx, full)
	if err != nil {
		return nil, err
	}
	defer release()
	lines := map[string]bool{}
	for _, id := range full {
		_, entries, err := f.Store.Show(id)
		if err != nil {
			return nil, err
		}
		typed(entries, lines)
	}
	if err := forgetTyped(f.History, lines); err != nil {
		return nil, err
	}
	m := f.Mirror
	list, err := f.Store.DeleteAlso(func() error { return errors.Join(m.Remove(full...), f.Results.Remove(full...)) },
		full...)
	for _, conv := range list {
		err = errors.Join(err, m.Follow(f.Store, conv.Agent))
	}
	return list, err
}

func (f *Forgetter) resolve(ids []string) (full []string, err error) {
	for _, id := range ids {
		if id, err = f.Store.Resolve(id); err != nil {
			return nil, err
		}
		full = append(full, id)
	}
	return full, nil
}

// hold takes conversations, in an order that lets nobody wait for us whom we wait for, and keeps imports away: of which
// conversations there is more to come, they do not know.
func (f *Forgetter) hold(ctx context.Context, ids []string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	turns := f.Turns
	first, err := turns.HoldImports(ctx)
	if err != nil {
		return nil, Busy(err, "nothing was deleted; wait for the import or end it, then delete again")
	}
	held := []func(){first}
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		r, _, err := turns.Hold(ctx, id)
		if err != nil {
			release()
			return nil, Busy(err, deleteAgain)
		}
		held = append(held, r)
	}
	return release, nil
}

// ForgetAll removes the memory first: as long as that has not succeeded, everything is there.
func (f *Forgetter) ForgetAll(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	release, err := f.Turns.HoldAll(ctx)
	if err != nil {
		return 0, Busy(err, deleteAgain)
	}
	defer release()
	all, err := f.Store.Conversations(0)
	if err != nil {
		return 0, err
	}
	_, err = f.Store.ClearAlso(func() error {
		return errors.Join(f.Mirror.Clear(), f.Results.Clear(), forgetTyped(f.History, nil))
	})
	return len(all), err
}
