package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"clawsh/test/corpus"
	"clawsh/test/need"
)

const knownMisses = "../testdata/commands/known_misses.txt"

// TestCommandCorpus holds the real gate to the verdicts that testdata/commands expects, at every autonomy level. A
// wrong one that is not a known miss fails, and so does a known miss that is none any more. UPDATE_SCRIPTS=1 rewrites
// the known misses: look at the difference.
func TestCommandCorpus(t *testing.T) {
	t.Parallel()
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
	for _, file := range []string{corpus.Hostile, corpus.Ordinary, corpus.High, corpus.Work} {
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
	t.Parallel()
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
		{corpus.Work, "high", "medium", []corpus.Level{"low", "blocked"}, []corpus.Level{"medium", "high"}},
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

// TestMiddleWayCanFail shows that each list expects something of the middle way.
func TestMiddleWayCanFail(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		c     corpus.Case
		right string // the decisions that pass
	}{
		{corpus.Case{File: corpus.Hostile, Want: "blocked"}, "deny"},
		{corpus.Case{File: corpus.Hostile, Want: "high"}, "ask deny"},
		{corpus.Case{File: corpus.Ordinary, Want: "medium"}, "allow"},
		{corpus.Case{File: corpus.Ordinary, Want: "medium", Least: "medium"}, "ask"},
		{corpus.Case{File: corpus.Ordinary, Want: "medium", Middle: "ask"}, "ask"},
		{corpus.Case{File: corpus.High, Want: "high"}, "ask"},
		{corpus.Case{File: corpus.Work, Want: "medium", Middle: "allow"}, "allow"},
		{corpus.Case{File: corpus.Work, Want: "high", Middle: "ask"}, "ask"},
	} {
		for _, decision := range []string{"allow", "ask", "deny", ""} {
			want := decision != "" && strings.Contains(row.right, decision)
			if got := row.c.RightAtMiddle(decision); got != want {
				t.Errorf("%+v: %q passes: %v", row.c, decision, got)
			}
		}
	}
}

// surroundings put a command into a larger script. Ends of lines keep here-documents and comments apart from what
// follows.
var surroundings = []string{"ls\n%s\n", "%s\nls\n", "{ %s\n}", "( %s\n)", "if true; then %s\nfi", "if %s\nthen ls; fi",
	"if false; then ls; else %s\nfi", "for i in a b; do %s\ndone",
	"while false; do %s\ndone", "until %s\ndo ls; done", "while read -r l; do %s\ndone < README.md",
	"case a in a) %s\n;; esac", "f() { %s\n}; f", "echo \"$(%s\n)\"", "x=$(%s\n)", "cat <(%s\n)",
	"{ %s\n} | cat", "cat README.md | { %s\n}", "{ %s\n} > /dev/null 2>&1", "{ %s\n} &", "! { %s\n}", "time { %s\n}",
	"{ %s\n} && ls", "ls || { %s\n}", "cd src; cd ..\n%s\n", "coproc { %s\n}",
	"echo ${x:-$(%s\n)}", "cat <<END\n$(%s\n)\nEND\n", "[[ -n $(%s\n) ]]", "a=($(%s\n))", "echo $(( $(%s\n) ))",
	"f() if true; then %s\nfi; f"}

// everyNth is how many commands share a turn through the surroundings: each command gets a part of them, each
// surrounding a part of the commands. In a soak fewer share it, and each gets more of them.
const (
	everyNth     = 16
	everyNthSoak = 4
)

// TestSurroundingsMakeNothingMilder puts the commands of the lists into larger scripts: the gate may only become
// stricter. What is no whole command by itself is left out.
func TestSurroundingsMakeNothingMilder(t *testing.T) {
	t.Parallel()
	cases, err := corpus.Load("../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	gate, err := corpus.NewGate(filepath.Join(bin, "claw-gate"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	nth := everyNth
	if need.Soak() {
		nth = everyNthSoak
	}
	var bare, dressed []corpus.Case
	var inside []int // which of bare each of dressed holds
	for _, c := range cases {
		if c.Class == "parser-differential" || strings.HasSuffix(c.Command, `\`) || len(c.Command) > 1000 {
			continue
		}
		bare = append(bare, c)
		for i := len(bare) % nth; i < len(surroundings); i += nth {
			s := surroundings[i]
			inside = append(inside, len(bare)-1)
			dressed = append(dressed, corpus.Case{Command: strings.Replace(s, "%s", c.Command, 1)})
		}
	}
	before, err := gate.Judge(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	after, err := gate.Judge(t.Context(), dressed)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range after {
		if want := before[inside[i]]; got.Milder(want) {
			t.Errorf("%s alone, but %s in %+q", want, got, dressed[i].Command)
		}
	}
}
