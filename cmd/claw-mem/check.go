package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type checkResult struct {
	Path          string           `json:"path"`
	Conversations int              `json:"conversations"`
	Entries       int              `json:"entries"`
	Problems      []memory.Problem `json:"problems"`
}

func (r checkResult) WriteText(w io.Writer) error {
	for _, p := range r.Problems {
		done := ""
		if p.Rebuilt {
			done = " (repaired)"
		}
		fmt.Fprintf(w, "%s: %s%s\n", p.What, terminal.Escape(p.Message), done)
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s left\n", terminal.Escape(r.Path), spelling.Count(r.Conversations, "conversation"), spelling.Count(r.Entries, "entry"), spelling.Count(r.left(), "problem"))
	return err
}

func (r checkResult) left() (n int) {
	for _, p := range r.Problems {
		if !p.Rebuilt && !p.Lag {
			n++
		}
	}
	return n
}

// checker is one run of check.
type checker struct {
	words, rebuild, repair bool
	store                  *memory.Store
	mirror                 *memory.Mirror
	result                 checkResult
}

func check() command.Command {
	var k checker
	return command.Command{Name: "check", Offered: []string{"memory check"}, Summary: "check the memory and its mirrors for damage",
		Long: `Checks the database (structure, indexes, references and schema) and compares the session mirrors with it. The exit code
is 1 if anything is wrong. A mirror that lacks its last lines, as after a crash, is reported but is not damage.

Other programs can keep reading and writing; with --words or --rebuild, writers wait.`,
		Example: "claw-mem check\nclaw-mem check --rebuild --repair-mirror",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&k.words, "words", false, "compare every word of the search indexes with the entries, too")
			f.BoolVar(&k.rebuild, "rebuild", false, "rebuild indexes, triggers and views, and erase remains of deleted entries")
			f.BoolVar(&k.repair, "repair-mirror", false, "rewrite mirrors that differ from the database")
		},
		Access: k.access,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			k.result.Problems = []memory.Problem{}
			err := opened(c, memory.Options{Kept: true, ReadOnly: !k.words && !k.rebuild}, func(cfg *config.Config, s *memory.Store) error {
				k.store, k.mirror, k.result.Path = s, mirrorOf(cfg), cfg.Memory.Path
				return k.run(ctx)
			})
			if err != nil {
				return nil, err
			}
			if n := k.result.left(); n > 0 {
				return k.result, envelope.Errorf(envelope.ExitError, "memory.damaged", "the memory has %s, the first: %s", spelling.Count(n, "problem"), k.first()).
					WithHint("rebuild indexes with --rebuild and mirrors with --repair-mirror; restore lost entries by copying a backup over %s and removing its -wal and -shm files", k.result.Path)
			}
			return k.result, nil
		}}
}

func (k *checker) access(c *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	a := looking(c, cfg)
	if k.words || k.rebuild {
		a = storing(c, cfg)
	}
	agents := filepath.Join(cfg.Home, "agents")
	if k.repair {
		a.Write = append(a.Write, agents)
	} else {
		a.Read, a.List = append(a.Read, agents), append(a.List, agents)
	}
	return a
}

func (k *checker) first() string {
	for _, p := range k.result.Problems {
		if !p.Rebuilt && !p.Lag {
			return terminal.Escape(p.Message)
		}
	}
	return ""
}

func (k *checker) run(ctx context.Context) error {
	found, err := k.look()
	if err != nil {
		return err
	}
	if k.rebuild {
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
	k.result.Problems = append(k.result.Problems, found...)
	return k.mirrors(ctx)
}

func (k *checker) look() ([]memory.Problem, error) {
	list, err := k.store.Check()
	if err != nil || !k.words {
		return list, err
	}
	more, err := k.store.CheckWords()
	return append(list, more...), err
}

// settle is how long a record may be in the memory and not yet in its mirror.
const settle = 500 * time.Millisecond

// mirrors compares all sessions. What differs is looked at again a little later: records are mirrored after they are stored.
func (k *checker) mirrors(ctx context.Context) error {
	list, err := k.store.Conversations(0)
	if err != nil && len(k.result.Problems) > 0 {
		return nil // the file is too damaged to be compared, and that is told
	}
	if err != nil {
		return err
	}
	known, wrong := map[string]bool{}, []string(nil)
	for _, conv := range list {
		known[conv.ID] = true
		k.result.Conversations++
		k.result.Entries += conv.Entries
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

func (k *checker) compare(id string) (memory.Difference, error) {
	_, entries, err := k.store.Show(id)
	if err != nil {
		return memory.Difference{}, err
	}
	return k.mirror.Compare(id, entries)
}

// session reports the mirror of a conversation, and mends it.
func (k *checker) session(id string) error {
	p := memory.Problem{What: memory.ProblemMirror, ConversationID: id}
	conv, entries, err := k.store.Show(id)
	if errors.Is(err, memory.ErrNotFound) {
		// it may be all that is left of a conversation, behind a backup that was put back: nobody removes it but a person
		p.Message = fmt.Sprintf("session %s is not in the memory, and cannot be restored from its mirror; remove the file if you do not need it", id)
		k.result.Problems = append(k.result.Problems, p)
		return nil
	}
	if err != nil { // an entry cannot be read: others can
		p.Message = fmt.Sprintf("session %s cannot be compared: %v", id, err)
		k.result.Problems = append(k.result.Problems, p)
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
	if k.repair {
		if err := k.mirror.Rewrite(conv.Agent, id, entries); err != nil {
			return err
		}
		p.Rebuilt = true
	}
	k.result.Problems = append(k.result.Problems, p)
	return nil
}
