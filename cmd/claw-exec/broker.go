package main

import (
	"context"

	"clawsh/lib/broker"
	"clawsh/lib/command"
)

// options are what the broker's processes are told: how this one was started.
func options(c *command.Call) (broker.Options, error) {
	cfg, err := c.Config()
	return broker.Options{Config: cfg, Environ: c.Environ, Log: c.Log, Secrets: c.Secrets}, err
}

// serve is the process that starts things for the filter. The filter confines itself, and with it all that it would
// start; so it starts this one before, and asks it.
func serve() command.Command {
	return command.Command{Name: broker.ServeCommand, Hidden: true, Access: command.Unconfined, Args: "HOMES", Min: 1,
		Max:     1,
		Summary: "start programs for claw-exec", OwnSignals: true,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			o, err := options(c)
			if err != nil {
				return nil, err
			}
			return nil, broker.Serve(ctx, o, c.Args[0])
		}}
}

// fetch is the child that reads the web: the only part of claw-exec that has a network, and it has nothing else.
func fetch() command.Command {
	return command.Command{Name: broker.FetchCommand, Access: fetching, Hidden: true, Args: "TOOL", Min: 1, Max: 1,
		Summary: "run a tool that reads the web for claw-exec: arguments in, result out",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			o, err := options(c)
			if err != nil {
				return nil, err
			}
			return command.Records(), broker.Fetch(ctx, o, c.Args[0], c.Stdin, c.Stdout)
		}}
}
