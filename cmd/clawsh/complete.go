package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"clawsh/lib/command"
	"clawsh/lib/loop"
)

// turnFlags complete the flags of a turn.
func turnFlags() map[string]command.Complete {
	return map[string]command.Complete{"provider": providers, "agent": agents, "conversation": conversations}
}

// completing is a command whose argument the shell can complete.
func completing(c command.Command, values command.Complete) command.Command {
	c.Complete = values
	return c
}

func providers(_ context.Context, c *command.Call) (list []command.Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		p := cfg.Providers[name]
		list = append(list, command.Value{Name: name, Description: p.Kind + " " + p.Model})
	}
	return list
}

func agents(_ context.Context, c *command.Call) (list []command.Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	dirs, err := os.ReadDir(filepath.Join(cfg.Home, "agents"))
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		if _, err := cfg.AgentDir(d.Name()); err == nil && d.IsDir() {
			list = append(list, command.Value{Name: d.Name(), Description: "agent"})
		}
	}
	return list
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

func receipts(ctx context.Context, c *command.Call) (list []command.Value) {
	var found struct {
		Receipts []struct {
			ID        string `json:"id"`
			Timestamp string `json:"timestamp"`
			Tool      string `json:"tool"`
			Status    string `json:"status"`
		} `json:"receipts"`
	}
	if !listed(ctx, c, &found, "claw-receipt", "list") {
		return nil
	}
	slices.Reverse(found.Receipts)
	for _, r := range found.Receipts {
		list = append(list, command.Value{Name: r.ID, Description: r.Timestamp + " " + r.Tool + " " + r.Status})
	}
	return list
}

// listed asks a stage for what it lists; its complaints are nobody's business here.
func listed(ctx context.Context, c *command.Call, v any, stage, sub string) bool {
	cfg, err := c.Config()
	return err == nil && loop.NewSiblings(cfg, c.Environ, nil).Query(ctx, v, stage, sub) == nil
}
