package memory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestAKilledProcessLeavesALag: whatever a process that was killed has not mirrored, the next record of the conversation brings, once and in
// its order; until then the mirror is behind and not damaged. The cases are drawn: how much was said, how many lines are missing,
// where the file ends.
func TestAKilledProcessLeavesALag(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := openTemp(t)
		dir := filepath.Join(t.TempDir(), "agents")
		before := &Mirror{Dir: dir, Before: s.Before}
		file := filepath.Join(dir, "default", "sessions", "conv-1.jsonl")
		said, missing := rng.IntN(100), 1+rng.IntN(lagLines)
		for i := range said + missing {
			say(t, s, fmt.Sprint("m-", i), "conv-1", fmt.Sprint("message ", i))
			if rng.IntN(2) == 0 {
				say(t, s, fmt.Sprint("o-", i), "conv-2", "somebody else's")
			}
		}
		_, entries, err := s.Show("conv-1")
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries[:said] {
			mirrorOne(t, before, &entries[i])
		}
		whole := []byte(nil)
		if said > 0 {
			whole = []byte(readFile(t, file))
		}
		torn := rng.IntN(2) == 0
		if torn && said > 0 {
			os.WriteFile(file, append(whole, `{"id":"m-`...), 0o600)
		}
		if d, err := before.Compare("conv-1", entries); err != nil || d.Missing != missing || d.Behind != (said > 0 || missing == 1) {
			t.Fatalf("seed %d: said %d, missing %d: %+v %v", seed, said, missing, d, err)
		}
		say(t, s, "next", "conv-1", "next")
		_, entries, _ = s.Show("conv-1")
		mirrorOne(t, &Mirror{Dir: dir, Before: s.Before}, &entries[len(entries)-1])
		if d, err := before.Compare("conv-1", entries); err != nil || d.Any() {
			t.Fatalf("seed %d: said %d, missing %d, torn %v: %+v %v", seed, said, missing, torn, d, err)
		}
		for i := range missing { // the process was alive after all
			mirrorOne(t, before, &entries[said+i])
		}
		if d, err := before.Compare("conv-1", entries); err != nil || d.Any() {
			t.Fatalf("seed %d: mirrored twice: %+v %v", seed, d, err)
		}
	}
}

func mirrorOne(t *testing.T, m *Mirror, e *Entry) {
	t.Helper()
	if err := m.Put(e, DefaultAgent); err != nil {
		t.Fatal(err)
	}
}
