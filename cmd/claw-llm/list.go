package main

import (
	"context"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/provider"
	"clawsh/lib/terminal"
)

type providerList struct {
	Providers []provider.Info `json:"providers"`
}

func (l providerList) WriteText(w io.Writer) error {
	var t terminal.Table
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
		t.Row(mark+" "+p.Name, p.Kind, p.Model, p.BaseURL, key)
	}
	return t.Write(w)
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
