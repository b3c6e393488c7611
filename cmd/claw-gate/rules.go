package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/terminal"
)

// rulesResult are the user's own rules.
type rulesResult struct {
	File  string        `json:"file"`
	Rules []config.Rule `json:"rules"`
}

// WriteText writes a rule a line.
func (r rulesResult) WriteText(w io.Writer) error {
	if len(r.Rules) == 0 {
		_, err := fmt.Fprintln(w, "no rules; write them into the configuration, or answer an approval question with a")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range r.Rules {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", terminal.Escape(one.Name), one.Decide, one.Origin, terminal.Escape(one.When))
	}
	return t.Flush()
}

func rulesCommand() command.Command {
	return command.Command{Name: "policy rules", Access: looking, Summary: "list your own rules, and where each comes from", Example: "claw-gate policy rules",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			return rulesResult{cfg.RulesPath(), cfg.OwnRules()}, nil
		}}
}

type removedResult struct {
	Removed string `json:"removed"`
}

// WriteText says what was removed.
func (r removedResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "removed %s; the gate will ask about this call again\n", r.Removed)
	return err
}

func removeCommand() command.Command {
	return command.Command{Name: "policy rules remove", Args: "NAME", Min: 1, Max: 1, Access: removing, Complete: written, Summary: "remove a rule that an approval question wrote",
		Example: "claw-gate policy rules remove always-0123456789ab",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			name := c.Args[0]
			if slices.ContainsFunc(cfg.Security.Rules, func(r config.Rule) bool { return r.Name == name }) {
				return nil, envelope.Errorf(envelope.ExitError, "not_found", "the rule %s is in the configuration", terminal.Escape(name)).WithHint("edit %s", cfg.File)
			}
			if err := removeRule(cfg.RulesPath(), name); err != nil {
				return nil, err
			}
			return removedResult{name}, nil
		}}
}

// removing is for the command that takes a rule away: it replaces the file.
func removing(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	return confine.Access{Own: []string{cfg.RulesPath()}, List: []string{cfg.Home}}
}

// removeRule takes a rule out of the file, in place, so that running gates keep their file. A crash in the middle leaves a file
// that the configuration refuses, or one rule more than there should be, never another rule.
func removeRule(path, name string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("remove the rule: %w", err)
	}
	defer f.Close()
	if err := durable.Flock(f, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the rules: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err != nil {
		return fmt.Errorf("read the rules: %w", err)
	}
	left, found := without(config.Whole(data), name)
	if !found {
		return envelope.Errorf(envelope.ExitError, "not_found", "there is no rule %s in %s", terminal.Escape(name), path).WithHint("list them with: clawsh policy rules")
	}
	// What follows the rule moves up; until the file is cut, its old end is a second time there, which the next look refuses.
	if _, err := f.WriteAt(left, 0); err != nil {
		return fmt.Errorf("remove the rule: %w", err)
	}
	if err := f.Truncate(int64(len(left))); err != nil {
		return fmt.Errorf("remove the rule: %w", err)
	}
	return f.Sync()
}

// without is a file of rules without one: its table, and the comments right before it.
func without(data []byte, name string) ([]byte, bool) {
	lines := strings.SplitAfter(string(data), "\n")
	var out bytes.Buffer
	found := false
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "# written at the question, ") && !(strings.HasPrefix(lines[end], "[[") && !strings.HasPrefix(lines[end-1], "#")) {
			end++
		}
		block := strings.Join(lines[i:end], "")
		if rules, err := config.ParseRules([]byte(block)); err == nil && len(rules) == 1 && rules[0].Name == name {
			found = true
		} else {
			out.WriteString(block)
		}
		i = end
	}
	return out.Bytes(), found
}

// written are the values of an argument that names a rule which was written at a question.
func written(_ context.Context, c *command.Call) (list []command.Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	for _, r := range cfg.Written {
		list = append(list, command.Value{Name: r.Name, Description: r.Decide + " " + r.Reason})
	}
	return list
}
