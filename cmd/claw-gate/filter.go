package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/gate"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

func filter() command.Command {
	var executor string
	return command.Command{
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&executor, "executor", "",
				"sign permits for the claw-exec `ID` on another host, which has accepted this gate")
		},
		Filter:  true,
		Summary: "add a verdict to tool_call records",
		Example: `claw-llm <requests.jsonl | claw-gate | claw-exec | claw-receipt | claw-mem`,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if err := checkExecutor(executor); err != nil {
				return nil, err
			}
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			g, err := gate.Open(c, cfg, executor)
			if err != nil {
				return nil, err
			}
			defer g.Close()
			return stage.Filter(ctx, c, stage.Stage{Drain: true,
				Handlers: map[record.Kind]stage.Handler{record.KindToolCall: stage.Map(g.Decide)}})
		},
	}
}
