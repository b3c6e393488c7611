package main

import (
	"context"
	"fmt"
	"io"

	"clawsh/lib/command"
	"clawsh/lib/provider"
	"clawsh/lib/terminal"
)

type testResult struct{ provider.TestReport }

func (r testResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s answered in %d ms (model %s): %s\n", terminal.Escape(r.Provider), r.LatencyMS,
		terminal.Escape(r.Model),
		terminal.Escape(r.Text))
	return err
}

func test() command.Command {
	return command.Command{Name: "test", Offered: []string{"provider test"}, Args: "NAME", Min: 1, Max: 1,
		Complete: command.Providers,
		Summary:  "send one short message to a provider and show its answer", Example: "claw-llm test local",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			p, err := provider.New(cfg, c.Args[0], provider.Options{Getenv: c.Getenv, Log: c.Log, Secrets: c.Secrets})
			if err != nil {
				return nil, explain(err)
			}
			report, err := provider.Test(ctx, p)
			if err != nil {
				return nil, explain(err)
			}
			return testResult{report}, nil
		}}
}
