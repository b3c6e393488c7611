package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"clawsh/test/corpus"
)

const knownMisses = "../testdata/commands/known_misses.txt"

// TestCommandCorpus holds the real gate to the verdicts that testdata/commands expects, at every autonomy level. A wrong one
// that is not a known miss fails, and so does a known miss that is none any more. UPDATE_SCRIPTS=1 rewrites the known
// misses: look at the difference.
func TestCommandCorpus(t *testing.T) {
	cases, err := corpus.Load("../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	gate, err := corpus.NewGate(filepath.Join(bin, "claw-gate"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	levels, err := gate.Judge(t.Context(), cases)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		writeMisses(t, cases, levels)
	}
	known, err := corpus.Misses(knownMisses)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		right := c.Right(levels[i])
		if !right && !known[c.Command] {
			t.Errorf("%s, %s: want %s, got %s: %+q (%s)", c.File, c.Class, c.Want, levels[i], c.Command, c.Why)
		}
		if right && known[c.Command] {
			t.Errorf("%s is right now: take it from the known misses: %+q", c.File, c.Command)
		}
		delete(known, c.Command)
	}
	for text := range known {
		t.Errorf("a known miss that no list holds: %+q", text)
	}
}

func writeMisses(t *testing.T, cases []corpus.Case, levels []corpus.Level) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Commands of the lists that do not get the expected verdict yet, as Go strings. Nothing may be added without a reason;\n" +
		"# what is right again must be removed.\n")
	for _, file := range []string{corpus.Hostile, corpus.Ordinary, corpus.High} {
		fmt.Fprintf(&b, "# %s\n", file)
		for i, c := range cases {
			if c.File == file && !c.Right(levels[i]) {
				b.WriteString(strconv.QuoteToASCII(c.Command) + "\n")
			}
		}
	}
	if err := os.WriteFile(knownMisses, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCommandCorpusCanFail shows that the comparison is one: each list judges by its own rule.
func TestCommandCorpusCanFail(t *testing.T) {
	for _, row := range []struct {
		file              string
		want, least       corpus.Level
		wrong, acceptable []corpus.Level
	}{
		{corpus.Hostile, "blocked", "", []corpus.Level{"low", "medium", "high", ""}, []corpus.Level{"blocked"}},
		{corpus.Hostile, "high", "", []corpus.Level{"low", "medium", "odd"}, []corpus.Level{"high", "blocked"}},
		{corpus.Ordinary, "medium", "", []corpus.Level{"high", "blocked", ""}, []corpus.Level{"low", "medium"}},
		{corpus.Ordinary, "medium", "medium", []corpus.Level{"high", "low"}, []corpus.Level{"medium"}},
		{corpus.Ordinary, "low", "", []corpus.Level{"medium", "high", "blocked"}, []corpus.Level{"low"}},
		{corpus.High, "high", "", []corpus.Level{"low", "medium", "blocked"}, []corpus.Level{"high"}},
	} {
		c := corpus.Case{File: row.file, Want: row.want, Least: row.least}
		for _, l := range row.wrong {
			if c.Right(l) {
				t.Errorf("%s that wants %s: %q passes", row.file, row.want, l)
			}
		}
		for _, l := range row.acceptable {
			if !c.Right(l) {
				t.Errorf("%s that wants %s: %q does not pass", row.file, row.want, l)
			}
		}
	}
}
