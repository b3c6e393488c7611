package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"clawsh/lib/card"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// toolInfo describes a tool. Active tools are offered to the model.
type toolInfo struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Active      bool       `json:"active"`
	Parameters  record.Raw `json:"parameters"`
}

type toolList struct {
	Tools []toolInfo `json:"tools"`
}

func (l toolList) WriteText(w io.Writer) error {
	var t terminal.Table
	for _, i := range l.Tools {
		note := ""
		if !i.Active {
			note = "  (not in channels.cli.tools_allow)"
		}
		t.Row(i.Name, i.Description+note)
	}
	return t.Write(w)
}

func (i toolInfo) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\nactive: %t\nparameters: %s\n", i.Name, i.Description, i.Active, i.Parameters)
	return err
}

// describe takes no more of the configuration than claw-loop compares before it uses a list that it has kept.
func describe(limits config.Limits, channel config.CLI, t card.Card) toolInfo {
	return toolInfo{t.Name, t.Sentence, slices.Contains(channel.ToolsAllow, t.Name), t.Schema(limits.Seconds)}
}

func list() command.Command {
	return command.Command{Name: "list", Offered: []string{"tool list"}, Access: looking, Summary: "list the tools",
		Example: "claw-exec list",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			l := toolList{Tools: []toolInfo{}}
			for _, t := range card.All() {
				l.Tools = append(l.Tools, describe(cfg.Limits, cfg.Channels.CLI, t))
			}
			return l, nil
		}}
}

func show() command.Command {
	return command.Command{Name: "show", Offered: []string{"tool show"}, Access: looking, Args: "NAME", Min: 1, Max: 1,
		Complete: tools, Summary: "show a tool and its parameters",
		Example: "claw-exec show file_read",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			t, ok := card.Find(c.Args[0])
			if !ok {
				return nil, envelope.Errorf(envelope.ExitError, "not_found", "there is no tool %q",
					terminal.Escape(c.Args[0])).
					WithHint("see: claw-exec list")
			}
			return describe(cfg.Limits, cfg.Channels.CLI, t), nil
		}}
}

// tools are the values of an argument that names a tool.
func tools(context.Context, *command.Call) (list []command.Value) {
	for _, t := range card.All() {
		list = append(list, command.Value{Name: t.Name, Description: t.Sentence})
	}
	return list
}
