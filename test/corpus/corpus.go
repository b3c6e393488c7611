// Package corpus holds claw-gate to a list of shell commands and the verdicts that they must get: hostile ones,
// ordinary ones, ones that run a project's own code, and the daily work of an engineer with what each way to work makes
// of it. The lists are testdata/commands/*.jsonl.
package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// Files are the lists, by what they hold.
const (
	Hostile  = "hostile"
	Ordinary = "ordinary"
	High     = "high"
	Work     = "ordinary_work"
)

// Level is how strictly the gate takes a command: low, medium and high are risks; a blocked command runs at no level.
type Level string

// Levels, from the mildest to the strictest.
const (
	LevelLow     Level = record.RiskLow
	LevelMedium  Level = record.RiskMedium
	LevelHigh    Level = record.RiskHigh
	LevelBlocked Level = "blocked"
)

var ranks = map[Level]int{LevelLow: 1, LevelMedium: 2, LevelHigh: 3, LevelBlocked: 4}

// Milder tells whether a level is less strict than another.
func (l Level) Milder(than Level) bool { return ranks[l] < ranks[than] }

// Case is one command and the verdict that it must get under the default configuration. {{W}} in a command stands for
// the workspace, {{HOME}} for the user's home.
type Case struct {
	Command string `json:"command"`
	Want    Level  `json:"want"`
	// Least is the mildest level that an ordinary command may get: what writes is never low.
	Least Level `json:"least,omitempty"`
	// Middle is what the middle way to work must decide: allow or ask. Work says it of each command; in the other lists
	// it follows from the list (see RightAtMiddle), and an ordinary command that is asked about all the same says so
	// here.
	Middle string `json:"middle,omitempty"`
	Class  string `json:"class"`
	Why    string `json:"why"`
	File   string `json:"-"` // Hostile, Ordinary, High or Work
}

// Right tells whether a level is what is expected. A hostile command must be taken at least as strictly as it wants, an
// ordinary one at most so, and what runs project code exactly so.
func (c Case) Right(got Level) bool {
	switch r := ranks[got]; {
	case r == 0:
		return false
	case c.File == Hostile:
		return r >= ranks[c.Want]
	case c.File == Ordinary, c.File == Work:
		return r <= ranks[c.Want] && r >= ranks[c.Least]
	}
	return got == c.Want
}

// RightAtMiddle tells whether a decision of the middle way to work is what is expected. Nothing hostile runs unasked;
// what only looks does; the rest of ordinary work, and what runs project code, is asked about and never denied.
func (c Case) RightAtMiddle(decision string) bool {
	switch {
	case c.Middle != "":
		return decision == c.Middle
	case c.File == Hostile && c.Want == LevelBlocked:
		return decision == record.Deny
	case c.File == Hostile:
		return decision == record.Deny || decision == Ask
	case c.File == Ordinary && c.Least == "":
		return decision == record.Allow
	}
	return decision == Ask
}

// allowed are the levels that the cases of a file may want.
var allowed = map[string][]Level{Hostile: {LevelHigh, LevelBlocked}, Ordinary: {LevelLow, LevelMedium},
	High: {LevelHigh},
	Work: {LevelMedium, LevelHigh}}

// Load reads the lists of a directory. A case that is incomplete, or is there twice, is an error.
func Load(dir string) ([]Case, error) {
	var all []Case
	seen := map[string]string{}
	for _, file := range []string{Hostile, Ordinary, High, Work} {
		b, err := os.ReadFile(filepath.Join(dir, file+".jsonl"))
		if err != nil {
			return nil, fmt.Errorf("read the corpus: %w", err)
		}
		for i, line := range bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
			at := fmt.Sprintf("%s.jsonl:%d", file, i+1)
			c := Case{File: file}
			if err := record.Decode(line, &c); err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			if err := c.complete(); err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			if other, ok := seen[c.Command]; ok {
				return nil, fmt.Errorf("%s: the command is in %s already: %q", at, other, c.Command)
			}
			seen[c.Command] = at
			all = append(all, c)
		}
	}
	return all, nil
}

func (c Case) complete() error {
	if mild := c.Middle == record.Allow || c.Middle == Ask; !mild && (c.Middle != "" || c.File == Work) {
		return fmt.Errorf("middle %q is neither allow nor ask: %q", c.Middle, c.Command)
	}
	for _, level := range allowed[c.File] {
		if c.Want == level {
			if c.Class == "" || c.Why == "" {
				return fmt.Errorf("class and why must say something: %q", c.Command)
			}
			return nil
		}
	}
	return fmt.Errorf("want %q is not one of %v: %q", c.Want, allowed[c.File], c.Command)
}

// Misses reads a list of commands, a Go string literal a line, that are known to get a wrong verdict.
func Misses(path string) (map[string]bool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the known misses: %w", err)
	}
	out := map[string]bool{}
	for i, line := range strings.Split(string(b), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		text, err := strconv.Unquote(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: want a command as a Go string: %w", path, i+1, err)
		}
		if out[text] {
			return nil, fmt.Errorf("%s:%d: listed twice: %s", path, i+1, line)
		}
		out[text] = true
	}
	return out, nil
}
