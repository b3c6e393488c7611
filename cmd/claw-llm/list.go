package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"clawsh/lib/command"
	"clawsh/lib/provider"
	"clawsh/lib/terminal"
)

type providerList struct {
	Providers []provider.Info `json:"providers"`
}

func (l providerList) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range l.Providers {
		mark := " "
		if p.Default {
			mark = "*"
		}
		key := ""
		if p.APIKeyEnv != "" {
			key = "key from " + p.APIKeyEnv
			if !p.APIKeySet {
				key += " (not set)"
			}
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%s\n", mark, terminal.Escape(p.Name), p.Kind, terminal.Escape(p.Model),
			terminal.Escape(p.BaseURL), key)
	}
	return t.Flush()
}

func list() command.Command {
	return command.Command{Name: "list", Offered: []string{"provider list"}, Summary: "list the configured providers",
		Long:    "The default provider is marked with *. Keys are never shown, only the names of their environment variables.",
		Example: "claw-llm list",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			return providerList{provider.List(cfg, c.Getenv)}, nil
		}}
}
