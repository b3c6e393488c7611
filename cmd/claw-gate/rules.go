package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"clawsh/lib/approval"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
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
	var t terminal.Table
	for _, one := range r.Rules {
		t.Row(one.Name, one.Decide, one.Origin, one.When)
	}
	return t.Write(w)
}

func rulesCommand() command.Command {
	return command.Command{Name: "policy rules", Offered: []string{"policy rules"}, Access: looking,
		Summary: "list your own rules, and where each comes from", Example: "claw-gate policy rules",
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
	return command.Command{Name: "policy rules remove", Offered: []string{"policy rules remove"}, Args: "NAME", Min: 1,
		Max: 1, Access: removing, Complete: written, Summary: "remove a rule that an approval question wrote",
		Example: "claw-gate policy rules remove always-0123456789ab",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			name := c.Args[0]
			if slices.ContainsFunc(cfg.Security.Rules, func(r config.Rule) bool { return r.Name == name }) {
				return nil, envelope.Errorf(envelope.ExitError, "not_found", "the rule %s is in the configuration",
					terminal.Escape(name)).WithHint("edit %s", cfg.File)
			}
			if err := approval.RemoveRule(cfg.RulesPath(), name); err != nil {
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
