package main

import (
	"context"
	"os"

	"clawsh/lib/broker"
	"clawsh/lib/card"
	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/executor"
	"clawsh/lib/record"
	"clawsh/lib/stage"
	"clawsh/lib/tool"
)

func filter() command.Command {
	return command.Command{
		Filter:  true,
		Summary: "run gated tool_call records",
		Example: `claw-llm <requests.jsonl | claw-gate | claw-exec | claw-receipt | claw-mem`,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			e, b, err := openExecutor(c)
			if err != nil {
				return nil, err
			}
			defer e.Close()
			if b != nil {
				defer b.Close()
			}
			res, err := stage.Filter(ctx, c, stage.Stage{Drain: true,
				Handlers: map[record.Kind]stage.Handler{record.KindToolCall: stage.Map(e.Run)}})
			if err == nil && e.Unconfined != "" {
				err = envelope.Errorf(envelope.ExitSandbox, "sandbox.unavailable", "%s", e.Unconfined)
			}
			return res, err
		},
	}
}

// openExecutor starts the broker, which starts what this process may not from here on, if a tool needs it.
func openExecutor(c *command.Call) (e *executor.Executor, b *broker.Client, err error) {
	o, err := options(c)
	if err != nil {
		return nil, nil, err
	}
	cfg := o.Config
	var homes *tool.Homes
	dir := ""
	if err := cfg.CheckWorkspace(); err != nil {
		return nil, nil, err
	}
	if cfg.OffersTool(card.Needs.Starts) {
		if homes, err = tool.MakeHomes(); err != nil {
			return nil, nil, err
		}
		dir = homes.Dir
		if b, err = broker.Start(o, dir); err != nil {
			return nil, nil, err
		}
	}
	if e, err = executor.Open(c, cfg, homes); err != nil {
		return nil, nil, err
	}
	if b != nil {
		b.Equip(e.Env)
	}
	_ = os.MkdirAll(cfg.ResultsDir(), 0o700) // what cannot be kept is told when it is
	return e, b, c.Confine(access(cfg, dir))
}
