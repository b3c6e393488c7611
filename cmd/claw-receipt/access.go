package main

import (
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
)

// access is the row of the filter: it writes receipts. It has no network and starts nothing.
func access(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	return confine.Access{Own: []string{cfg.Receipts.Path}, Read: []string{cfg.AuditPath()}, List: []string{filepath.Dir(cfg.Receipts.Path)}}
}

// looking is for the commands that look at receipts.
func looking(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	return confine.Access{Read: []string{cfg.Receipts.Path, cfg.AuditPath()}}
}
