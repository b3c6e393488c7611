package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/test/need"
)

// TestAKilledProcessLeavesALag: whatever a process that was killed has not mirrored, the next record of the
// conversation brings, once and in its order; until then the mirror is behind and not damaged. The cases are drawn: how
// much was said, how many lines are missing, where the file ends, and whether somebody wrote to it.
func TestAKilledProcessLeavesALag(t *testing.T) {
	for seed := range uint64(need.Rounds(8, 60)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := openTemp(t)
		m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
		file := filepath.Join(m.Dir, "default", "sessions", "conv-1.jsonl")
		said, missing := rng.IntN(40), 1+rng.IntN(lagLines)
		for i := range said + missing {
			say(t, s, fmt.Sprint("m-", i), "conv-1", fmt.Sprint("message ", strings.Repeat("long ", rng.IntN(8000))))
			if rng.IntN(2) == 0 {
				say(t, s, fmt.Sprint("o-", i), "conv-2", "somebody else's")
			}
		}
		_, entries, err := s.Show("conv-1")
		if err != nil {
			t.Fatal(err)
		}
		if said > 0 {
			if err := m.Rewrite(DefaultAgent, "conv-1", entries[:said]); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(2) == 0 {
				whole := readFile(t, file)
				os.WriteFile(file, append([]byte(whole), `{"id":"m-`...), 0o600)
			}
		}
		want := Difference{From: said + 1, Missing: missing, Behind: said > 0 || missing == 1}
		if d, err := m.Compare("conv-1", entries); err != nil || d != want {
			t.Fatalf("seed %d: %+v %v, want %+v", seed, d, err, want)
		}
		changed := said > 0 && rng.IntN(3) == 0
		if changed {
			os.WriteFile(file, []byte("a line of nobody\n"), 0o600)
		}
		say(t, s, "next", "conv-1", "next")
		_, entries, _ = s.Show("conv-1")
		for i := range missing + 1 { // those before were alive after all
			mirrorOne(t, m, &entries[len(entries)-1-i])
			if d, err := m.Compare("conv-1", entries); err != nil || d.Any() {
				t.Fatalf("seed %d: said %d, missing %d, changed %v: %+v %v", seed, said, missing, changed, d, err)
			}
		}
	}
}

// TestASessionOfTwoAgents: each has it up to its own last record; who comes back gets the whole.
func TestASessionOfTwoAgents(t *testing.T) {
	s := openTemp(t)
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
	for i, agent := range []string{"default", "ops", "ops", "default", "ops"} {
		if err := mirror(m, parse(t, "user", fmt.Sprint("m-", i), "conv-1", fmt.Sprint("t-", i), `"content":"x"`),
			agent); err != nil {
			t.Fatal(err)
		}
		_, entries, err := s.Show("conv-1")
		d, err2 := m.Compare("conv-1", entries)
		if got := strings.Count(readFile(t, m.Dir, agent, "sessions", "conv-1.jsonl"), "\n"); got != i+1 || d.Any() ||
			errors.Join(err, err2) != nil {
			t.Errorf("%s has %d lines of %d: %+v %v %v", agent, got, i+1, d, err, err2)
		}
	}
}

// TestNothingIsMirroredOfWhatIsDeleted: a record that is mirrored when its conversation has been deleted leaves no
// file.
func TestNothingIsMirroredOfWhatIsDeleted(t *testing.T) {
	s := openTemp(t)
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
	e, _, err := s.Keep(parse(t, "user", "m-1", "conv-1", "t", `"content":"secret"`), "", Place{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete("conv-1"); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(&e, DefaultAgent); !errors.Is(err, ErrNotFound) {
		t.Errorf("mirrored: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(m.Dir, "*", "sessions", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func mirrorOne(t *testing.T, m *Mirror, e *Entry) {
	t.Helper()
	if err := m.Put(e, DefaultAgent); err != nil {
		t.Fatal(err)
	}
}
