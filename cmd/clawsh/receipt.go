package main

import (
	"context"
	"os"
	"slices"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/sibling"
)

// receiptShow hands over to claw-receipt, which sees no conversation: if content is asked for, claw-mem's is piped to
// it.
func receiptShow(plain runs) runs {
	return func(ctx context.Context, c *command.Call) (command.Result, error) {
		if !slices.Contains(c.Raw, "--with-content") || slices.Contains(c.Raw, "--help") ||
			slices.Contains(c.Raw, "-h") {
			return plain(ctx, c)
		}
		code, err := withContent(ctx, c)
		if err != nil {
			return nil, err
		}
		return command.Records(), command.Exit(code)
	}
}

// runs is how a command runs.
type runs = func(ctx context.Context, c *command.Call) (command.Result, error)

// withContent is claw-mem export | claw-receipt show.
func withContent(ctx context.Context, c *command.Call) (code int, err error) {
	cfg, err := located(c)
	if err != nil {
		return 0, err
	}
	siblings := sibling.New(cfg, c.Environ, os.Stderr)
	export, err := siblings.Spec("claw-mem", "export")
	if err != nil {
		return 0, err
	}
	show, err := siblings.Spec("claw-receipt", append([]string{"--as=clawsh receipt show", "show"}, c.Raw...)...)
	if err != nil {
		return 0, err
	}
	show.Stdout = os.Stdout
	stages, err := sibling.Chain(ctx, export, show)
	if err != nil {
		return 0, err
	}
	stages[0].Stdin.Close()
	defer stages[0].Stop(time.Second)
	return sibling.Wait(ctx, stages[1])
}
