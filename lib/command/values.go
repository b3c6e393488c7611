package command

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Providers are the configured providers.
func Providers(_ context.Context, c *Call) (list []Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		p := cfg.Providers[name]
		list = append(list, Value{Name: name, Description: p.Kind + " " + p.Model})
	}
	return list
}

// Models are the models that the configuration names. What others a server has it would have to be asked for.
func Models(_ context.Context, c *Call) (list []Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	where := map[string]string{}
	for id, a := range cfg.Agents {
		where[a.Model] = "of the agent " + id
	}
	for _, p := range cfg.Usage.Prices {
		where[p.Model] = "has a price"
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		where[cfg.Providers[name].Model] = "of the provider " + name
	}
	for _, model := range slices.Sorted(maps.Keys(where)) {
		list = append(list, Value{Name: model, Description: where[model]})
	}
	return list
}

// Agents are the agents: those with a directory in the home, and those that the configuration names.
func Agents(_ context.Context, c *Call) (list []Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	names := map[string]string{}
	dirs, _ := os.ReadDir(filepath.Join(cfg.Home, "agents")) // without it, those of the configuration remain
	for _, d := range dirs {
		if _, err := cfg.AgentDir(d.Name()); err == nil && d.IsDir() {
			names[d.Name()] = "agent"
		}
	}
	for id, a := range cfg.Agents {
		if names[id] = "agent"; a.Model != "" {
			names[id] += " " + a.Model
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, Value{Name: name, Description: names[name]})
	}
	return list
}

// Tools are the tools that there are.
func Tools(_ context.Context, c *Call) (list []Value) {
	cfg, err := c.Config()
	if err != nil {
		return nil
	}
	for _, name := range cfg.Channels.CLI.ToolsAllow {
		list = append(list, Value{Name: name, Description: "tool"})
	}
	for _, name := range cfg.ToolsNotOffered() {
		list = append(list, Value{Name: name, Description: "tool, not offered to the model"})
	}
	return list
}
