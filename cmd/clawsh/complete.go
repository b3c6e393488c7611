package main

import (
	"context"
	"slices"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/sibling"
)

// turnFlags complete the flags of a turn.
func turnFlags() map[string]command.Complete {
	return map[string]command.Complete{"conversation": conversations}
}

// relay asks the stage that a command is handed to, which knows its flags and what they may be; the conversations,
// which other stages cannot know, we ask claw-mem for.
func relay(stage, sub string) command.Relay {
	return func(ctx context.Context, c *command.Call) ([]command.Value, bool) {
		if n := len(c.Raw); n > 1 && c.Raw[n-2] == "--conversation" {
			return conversations(ctx, c), false
		}
		cfg, err := c.Config()
		if err != nil {
			return nil, false
		}
		out, err := sibling.New(cfg, c.Environ, nil).Complete(ctx, stage, slices.Concat(strings.Fields(sub), c.Raw)...)
		if err != nil {
			return nil, false
		}
		return command.Offered(out)
	}
}

// completing is a command whose argument the shell can complete.
func completing(c command.Command, values command.Complete) command.Command {
	c.Complete = values
	return c
}

func tools(ctx context.Context, c *command.Call) (list []command.Value) {
	var found struct {
		Tools []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tools"`
	}
	if !listed(ctx, c, &found, "claw-exec", "list") {
		return nil
	}
	for _, t := range found.Tools {
		list = append(list, command.Value{Name: t.Name, Description: t.Description})
	}
	return list
}

func conversations(ctx context.Context, c *command.Call) (list []command.Value) {
	var found struct {
		Conversations []struct {
			ID        string `json:"conversation_id"`
			UpdatedAt string `json:"updated_at"`
			Title     string `json:"title"`
		} `json:"conversations"`
	}
	if !listed(ctx, c, &found, "claw-mem", "list") {
		return nil
	}
	for _, v := range found.Conversations {
		list = append(list, command.Value{Name: v.ID, Description: v.UpdatedAt + " " + v.Title})
	}
	return list
}

// workspaces are the directories in which the agent may work.
func workspaces(_ context.Context, c *command.Call) (list []command.Value) {
	p, err := c.Paths()
	if err != nil {
		return nil
	}
	trust, err := config.ReadTrust(p.Home)
	if err != nil {
		return nil
	}
	for _, w := range trust.Workspaces {
		list = append(list, command.Value{Name: w.Path, Description: w.State()})
	}
	return list
}

// listed asks a stage for what it lists; its complaints are nobody's business here.
func listed(ctx context.Context, c *command.Call, v any, stage, sub string) bool {
	cfg, err := c.Config()
	return err == nil && sibling.New(cfg, c.Environ, nil).Query(ctx, v, stage, sub) == nil
}
