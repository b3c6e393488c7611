package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/sibling"
	"clawsh/lib/terminal"
)

// offer is a command of a stage, and the name that clawsh has for it.
type offer struct{ stage, sub, name, args, summary string }

// ofStage are the commands of a stage that clawsh offers.
func ofStage(stage string) (list []command.Command) {
	for _, o := range offers() {
		if o.stage != stage {
			continue
		}
		c := handOver(o.name, o.stage, o.sub, o.args, o.summary)
		if o.name == "receipt show" {
			c.Run = receiptShow(c.Run)
		}
		list = append(list, c)
	}
	return list
}

// handOver is a command that belongs to a stage: clawsh becomes that stage.
func handOver(name, stage, sub, args, summary string) command.Command {
	return command.Command{Name: name, Args: args, Max: -1, Summary: summary, HandOver: true, Example: "clawsh " + name,
		Relay: relay(stage, sub),
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := located(c)
			words := slices.Concat([]string{"--as=clawsh " + name}, strings.Fields(sub), c.Raw)
			return nil, sibling.HandOver(stage, words, c.Environ, cfg, err)
		}}
}

// ofMemory is a command of claw-mem.
func ofMemory(name, sub, args, summary string) command.Command {
	return handOver(name, "claw-mem", sub, args, summary)
}

// reset archives the conversation that -c would continue here, or the one that is named.
func reset(name string) command.Command {
	c := ofMemory(name, "archive", "[CONVERSATION_ID]",
		"archive the conversation that -c would continue here, so that -c starts a new one")
	c.Run = func(ctx context.Context, call *command.Call) (command.Result, error) {
		if named(call.Raw) {
			return ofMemory(name, "archive", "", "").Run(ctx, call)
		}
		return here(ctx, call, name, "archive --latest")
	}
	return c
}

// sessionShow shows the conversation that -c would continue here, or the one that is named.
func sessionShow(name string) command.Command {
	c := ofMemory(name, "show", "[CONVERSATION_ID]",
		"show a conversation; by default the one that -c would continue here")
	plain := c.Run
	c.Run = func(ctx context.Context, call *command.Call) (command.Result, error) {
		switch {
		case name == "session" && (slices.Contains(call.Raw, "--help") || slices.Contains(call.Raw, "-h")):
			return call.HelpOf(name), nil
		case named(call.Raw) && name == "session":
			return nil, call.UnknownCommand(call.Raw[0])
		case named(call.Raw):
			return plain(ctx, call)
		}
		return here(ctx, call, name, "show")
	}
	return c
}

// here hands over to claw-mem, saying on which terminal and in which workspace.
func here(ctx context.Context, call *command.Call, name, sub string) (command.Result, error) {
	if cfg, err := located(call); err == nil {
		call.Raw = append(sibling.PlaceFlags(cfg, terminal.Session()), call.Raw...)
	}
	return ofMemory(name, sub, "", "").Run(ctx, call)
}

// named tells whether arguments that are handed over unparsed include one that is neither a flag nor the value of one.
func named(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			return i+1 < len(args)
		case slices.Contains([]string{"--config", "-C", "--workspace", "--output-format", "--jq", "--agent",
			"--directory", "--terminal"}, a):
			i++
		case !strings.HasPrefix(a, "-"):
			return true
		}
	}
	return false
}

// located is the configuration of a call whose flags are handed over unparsed.
func located(c *command.Call) (*config.Config, error) {
	p, err := config.Locate(flagValue(c.Raw, "--config"), c.Getenv)
	if err != nil {
		return nil, err
	}
	p.Workspace = cmp.Or(flagValue(c.Raw, "--workspace"), flagValue(c.Raw, "-C"))
	return config.Load(p)
}

// flagValue finds the value of a flag in arguments that are handed over unparsed.
func flagValue(args []string, name string) string {
	for i, a := range args {
		if len(a) > len(name) && a[:len(name)+1] == name+"=" {
			return a[len(name)+1:]
		}
		if a == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}
