package policy

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// plot is a ground without a policy: two programs, one directory, and a record of the paths that the judge asks about.
type plot struct{ asked []string }

func (*plot) top() string                             { return "/plot" }
func (*plot) lists(name string) bool                  { return name == "cat" || name == "git" }
func (*plot) listsWord(name, word string) bool        { return name == "go" && word == "vet" }
func (*plot) walled() bool                            { return false }
func (*plot) enter(dir, to string) (string, bool)     { return dir + "/" + to, true }
func (*plot) names(string) ([]fs.DirEntry, error)     { return nil, nil }
func (*plot) above(string) bool                       { return false }
func (*plot) called(path string) string               { return strings.TrimPrefix(path, "/plot/") }
func (*plot) scriptAt(string, effort, *state) finding { return finding{} }

func (p *plot) forbiddenIn(c command, _ effort, _ []string) finding {
	if c.name() == "rm" {
		return blocked("command.forbidden", "no")
	}
	return finding{}
}

func (p *plot) word(dir, word string, a access) finding { return p.pathFrom(dir, word, a) }

func (p *plot) pathFrom(dir, name string, a access) finding {
	p.asked = append(p.asked, dir+"/"+name)
	if name == "secret" {
		return blocked("path.forbidden", "no")
	}
	return low("path.workspace", "yes")
}

// TestJudgeAsksItsGround: what the judge finds follows from the script and from what its ground says, and from nothing
// else.
func TestJudgeAsksItsGround(t *testing.T) {
	for script, want := range map[string]struct {
		rule  string
		rank  int
		asked string
	}{
		"cat a":                {"", 0, "/plot/a"},
		"cd sub && cat a":      {"", 0, "/plot/sub /plot/sub/a"},
		"cat secret":           {"path.forbidden", 3, "/plot/secret"},
		"cat a; cat secret":    {"path.forbidden", 3, "/plot/a /plot/secret"},
		"rm a":                 {"command.forbidden", 3, ""},
		"make":                 {"command.unlisted", 2, ""},
		"git log":              {"command.repository", 2, ""},
		"go vet":               {"command.unlisted", 2, "/plot/vet"},
		"timeout 5 cat a":      {"command.unlisted", 2, "/plot/5 /plot/cat /plot/a"},
		"x=secret; cat \"$x\"": {"path.forbidden", 3, "/plot/secret"},
	} {
		on := &plot{}
		file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
		if err != nil {
			t.Fatal(err)
		}
		j := &judge{on: on, src: script, effort: newEffort()}
		f := j.list(file.Stmts, &state{dirs: []string{on.top()}, vars: map[string]value{}})
		if f.rule != want.rule || f.rank() != want.rank || !slices.Equal(on.asked, strings.Fields(want.asked)) {
			t.Errorf("%s: %s, rank %d, asked for %q: want %s, %d, %q", script, f.rule, f.rank(), on.asked, want.rule,
				want.rank, want.asked)
		}
	}
}
