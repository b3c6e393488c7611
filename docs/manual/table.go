// Package manual writes clawsh's reference pages from what the programs say of themselves: the man pages and the pages
// of docs/ that are tables of commands, keys of the configuration and exit codes. No program links it: docs/generate
// runs it when clawsh is built.
package manual

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/record"
)

// Names are the programs, the one that people start first.
func Names() []string {
	return []string{"clawsh", "claw-loop", "claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem"}
}

// Program is a program as its help describes it.
type Program struct {
	App      string    `json:"app"`
	Summary  string    `json:"summary"`
	Long     string    `json:"long"`
	Commands []Command `json:"commands"`
	Flags    []Flag    `json:"flags"` // that every command takes
}

// Command is one command of a program.
type Command struct {
	Name     string   `json:"name"`
	Envelope string   `json:"envelope"`
	Usage    string   `json:"usage"`
	Summary  string   `json:"summary"`
	Long     string   `json:"long"`
	Example  string   `json:"example"`
	HandOver bool     `json:"hand_over"`
	Offered  []string `json:"offered"`
	Flags    []Flag   `json:"flags"`
}

// Flag is one flag of a command.
type Flag struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand"`
	Value     string `json:"value"`
	Default   string `json:"default"`
	Usage     string `json:"usage"`
}

// Stages asks the stages in a directory for their help.
func Stages(bin string) (all []Program, err error) {
	home, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	for _, name := range Names()[1:] {
		p, err := ask(home, bin, name, "help")
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Programs asks the programs in a directory for their help. A command that clawsh hands over is described by the stage
// that has it.
func Programs(bin string) ([]Program, error) {
	home, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	var all []Program
	for _, name := range Names() {
		p, err := ask(home, bin, name, "help")
		if err != nil {
			return nil, err
		}
		for i, c := range p.Commands {
			if !c.HandOver {
				continue
			}
			own, err := ask(home, bin, append([]string{name}, append(strings.Fields(c.Name), "--help")...)...)
			if err != nil {
				return nil, err
			}
			p.Commands[i] = ofStage(c, own)
		}
		slices.SortStableFunc(p.Commands, func(a, b Command) int { return min(len(a.Name), 1) - min(len(b.Name), 1) })
		all = append(all, p)
	}
	return all, nil
}

// ofStage is a command with the stage's words, flags and example.
func ofStage(c Command, own Program) Command {
	for _, o := range own.Commands {
		if o.Name == c.Name && len(own.Commands) == 1 {
			c.Usage, c.Long, c.Example, c.Flags = o.Usage, o.Long, o.Example, o.Flags
		}
	}
	return c
}

func ask(home, bin string, args ...string) (Program, error) {
	cmd := exec.Command(filepath.Join(bin, args[0]), append(args[1:], "--output-format", "json")...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + bin}
	out, err := cmd.Output()
	var env struct {
		Data Program `json:"data"`
	}
	if err == nil {
		err = record.DecodeOpen(out, &env)
	}
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return env.Data, nil
}

// words is how a flag is typed: -s, --system PROMPT|FILE.
func (f Flag) words() string {
	short := ""
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	return short + strings.TrimSpace("--"+f.Name+" "+f.Value)
}

// means is what a flag does, with its default.
func (f Flag) means() string {
	if f.Default == "" || f.Default == "false" || f.Default == "0" || f.Default == "0s" || f.Default == "[]" {
		return f.Usage
	}
	return f.Usage + " (default " + f.Default + ")"
}
