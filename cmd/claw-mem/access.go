package main

import (
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/memory"
)

// The memory lies in the home beside what others own, so the right is to its three files and not to their directory:
// they are made before, and they stay. No command has the network, or starts anything.

// access is the row of the filter: the database, and the mirror of the agent's sessions.
func (k *keeper) access(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	a := storing(nil, cfg)
	agents := filepath.Join(cfg.Home, "agents")
	a.List = append(a.List, agents) // the mirror goes below it
	if dir, err := cfg.AgentDir(k.name(cfg)); err == nil {
		sessions := filepath.Join(dir, "sessions")
		_ = os.MkdirAll(sessions, 0o700) // the mirror says what is wrong, if anything is
		a.Write = []string{sessions}
		// beside it lies soul.md, which tells the model who it is
		a.Own = append(a.Own, filepath.Join(dir, "agent.jsonl"))
		a.List = append(a.List, dir)
	}
	return a
}

// storing is the row of init.
func storing(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	_ = os.MkdirAll(filepath.Dir(cfg.Memory.Path), 0o700) // what cannot be made is reported when the memory is opened
	return confine.Access{Own: memory.Prepare(cfg.Memory.Path, memory.Options{}),
		List: []string{filepath.Dir(cfg.Memory.Path)}} // a directory is synced by opening it
}

// looking is the row of the commands that read. To read a database in use is to write into its index of the log.
func looking(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	files := memory.Prepare(cfg.Memory.Path, memory.Options{ReadOnly: true})
	if len(files) == 0 {
		return confine.Access{}
	}
	return confine.Access{Read: files[:1:1], Own: files[1:]} // who adds to one must not write into the other
}

// clearing is the row of what makes or removes the mirrors of all agents.
func clearing(c *command.Call, cfg *config.Config) confine.Access {
	a := storing(c, cfg)
	if cfg != nil {
		a.Write = []string{filepath.Join(cfg.Home, "agents")}
	}
	return a
}

// importing is the row of import, which takes a lock as well.
func importing(c *command.Call, cfg *config.Config) confine.Access {
	a := clearing(c, cfg)
	if cfg != nil {
		_ = os.MkdirAll(cfg.TurnsDir(), 0o700) // to take a lock says what is wrong, if anything is
		a.Write = append(a.Write, cfg.TurnsDir())
	}
	return a
}

// forgetting is the row of the commands that remove what was said.
func forgetting(c *command.Call, cfg *config.Config) confine.Access {
	a := clearing(c, cfg)
	if cfg != nil {
		_ = os.MkdirAll(cfg.TurnsDir(), 0o700) // to take a lock says what is wrong, if anything is
		a.Write = append(a.Write, cfg.ResultsDir(), cfg.TurnsDir())
		if info, err := os.Lstat(cfg.HistoryPath()); err == nil && info.Mode().IsRegular() {
			a.Own = append(a.Own, cfg.HistoryPath())
		}
	}
	return a
}
