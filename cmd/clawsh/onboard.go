package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/onboard"
)

// connect is clawsh onboard.
func connect() command.Command {
	var o onboard.Answers
	return command.Command{Name: "onboard",
		Summary: "connect a model: ask on the terminal for what flags leave open, and test the provider",
		Long: "Checks each answer at once: whether the server is reachable, which models it has, whether the key's variable is\n" +
			"set. Then asks how the model may work (strict, middle or full) and where, and writes the answers to config.toml,\n" +
			"keeping everything else in it. It never asks for a key, only for the name of its environment variable.\n" +
			"--way, --autonomy and --where without a provider change only these settings.",
		Example: "clawsh onboard\nclawsh onboard --kind openai-compatible --base-url http://localhost:1234/v1 --model local-model --way middle",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.Kind, "kind", "", "provider `KIND`: "+onboard.Kinds())
			f.StringVar(&o.BaseURL, "base-url", "", "the provider's base `URL`, up to and including /v1")
			f.StringVar(&o.KeyEnv, "api-key-env", "", "the `NAME` of the environment variable with the key")
			f.StringVar(&o.Model, "model", "", "the model's `NAME`")
			f.StringVar(&o.Way, "way", "", "the `WAY` the model may work: strict, middle or full")
			f.StringVar(&o.Where, "where", "",
				"the `PLACE` where it may work: here (where clawsh is started) or fixed (workspace_dir)")
			f.StringVar(&o.Autonomy, "autonomy", "", "set only the autonomy `LEVEL`: readonly, supervised or full")
			f.BoolVar(&o.NoTest, "no-test", false, "do not send a test message")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			r, err := onboard.New(c, p, &o).Run(ctx)
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}
