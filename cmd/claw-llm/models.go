package main

import (
	"context"
	"fmt"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/provider"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type modelList struct {
	Provider string           `json:"provider"`
	Models   []provider.Model `json:"models"`
}

func (l modelList) WriteText(w io.Writer) error {
	if len(l.Models) == 0 {
		_, err := fmt.Fprintf(w, "%s lists no models\n", terminal.Escape(l.Provider))
		return err
	}
	var t terminal.Table
	for _, m := range l.Models {
		mark, length := " ", ""
		if m.Configured {
			mark = "*"
		}
		if m.ContextLength > 0 {
			length = spelling.Count(m.ContextLength, "token")
		}
		t.Row(mark+" "+m.ID, length)
	}
	return t.Write(w)
}

func models() command.Command {
	return command.Command{Name: "models", Offered: []string{"provider models"}, Args: "[NAME]", Max: 1,
		Complete: command.Providers,
		Summary:  "list the models of a provider",
		Long:     "Asks the server of the provider NAME, or of the default provider. The configured model is marked with *.",
		Example:  "claw-llm models\nclaw-llm models openai_compatible --jq '.data.models[].id'",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			name := cfg.DefaultProvider
			if len(c.Args) == 1 {
				name = c.Args[0]
			}
			p, err := provider.New(cfg, name, provider.Options{Getenv: c.Getenv, Log: c.Log, Secrets: c.Secrets})
			if err != nil {
				return nil, explain(err)
			}
			list, err := provider.Models(ctx, p)
			if err != nil {
				return nil, explain(err)
			}
			return modelList{name, list}, nil
		}}
}
