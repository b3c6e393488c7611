package main

import (
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/terminal"
)

// access is the row of commands that start stages, which inherit what is given up. So only that is given up which none
// of them has a use for.
func access(*command.Call, *config.Config) confine.Access { return confine.Access{Stages: true} }

// checking is for commands that only look at the configuration and what it names.
func checking(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	return confine.Access{Read: []string{filepath.Join(cfg.Home, "agents"), config.TrustPath(cfg.Home)}}
}

// stopping is for the emergency stop: a file in clawsh's home.
func stopping(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{Stages: true} // the stop must work with a broken configuration, too
	}
	return confine.Access{Names: []string{cfg.Home}, Write: []string{cfg.Home}, Terminal: terminal.Device()}
}
