package test

import (
	"path/filepath"
	"testing"

	"clawsh/test/corpus"
)

// TestCommandCorpusMiddle holds the gate to what each list expects of the middle way (harmless = "low", high = "ask"):
// no hostile command runs unasked, what is blocked stays blocked, what only reads runs, everything else asks.
func TestCommandCorpusMiddle(t *testing.T) {
	t.Parallel()
	cases, err := corpus.Load("../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	gate, err := corpus.NewGate(filepath.Join(bin, "claw-gate"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := gate.Decide(t.Context(), corpus.Middle, cases)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if !c.RightAtMiddle(decisions[i]) {
			t.Errorf("%s, %s: %s at the middle way: %+q (%s)", c.File, c.Class, decisions[i], c.Command, c.Why)
		}
	}
}
