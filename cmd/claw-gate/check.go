package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/gate"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

func check() command.Command {
	summary := false
	return command.Command{Name: "check", Access: looking, Envelope: "policy check",
		Summary: "show how the policy would decide tool calls, new or old, without asking or signing",
		Long: `Reads tool_call records from standard input and adds the verdict of the policy: allow, ask (a person would be asked) or
deny. It asks, signs and logs nothing, and ignores the emergency stop.

A tool_result record, from an old log, becomes its call again, with the verdict as it would be now and the old decision
in the field was. Other records pass through. With --summary, it writes only the calls whose decision would change.`,
		Example: "claw-mem export | claw-gate check --summary",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&summary, "summary", false, "report only what the policy would change")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			k, err := gate.NewChecker(cfg)
			if err != nil {
				return nil, err
			}
			k.Silent = summary
			s := stage.Stage{Handlers: map[record.Kind]stage.Handler{record.KindToolCall: stage.Map(k.Call),
				record.KindToolResult: stage.Map(k.Result)}}
			if !summary {
				return c.Collect(func(c *command.Call) (command.Result, error) { return stage.Filter(ctx, c, s) })
			}
			for _, kind := range record.KindsWith(0) {
				if s.Handlers[kind] == nil {
					s.Handlers[kind] = func(context.Context, record.Line, *stage.Writer) error { return nil }
				}
			}
			quiet := *c
			quiet.Stdout = io.Discard
			if _, err := stage.Filter(ctx, &quiet, s); err != nil {
				return k.Summary(), err
			}
			return k.Summary(), nil
		}}
}
