package main

import (
	"os"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/terminal"
)

// access is the gate's row: it reads the permit's private key and the workspace, and writes the audit log. It has no
// network and starts nothing.
func access(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	cfg.MakeRules()
	own := []string{cfg.AuditPath()}
	if cfg.Security.Autonomy == "supervised" {
		own = append(own, cfg.RulesPath()) // a at a question
	}
	return confine.Access{
		// not the keys of receipts, which lie below them; the workspace, to show what a call changes
		Read: []string{cfg.PermitKeyPath(), cfg.PermitPubPath(), cfg.WorkspaceDir, cfg.RulesPath()},
		// patterns are expanded; a directory is synced by opening it
		List: append([]string{cfg.WorkspaceDir, cfg.Home}, cfg.Readable()...),
		Own:  own,
		// to ask
		Terminal: terminal.Device(),
	}
}

// looking is for commands that decide nothing: neither key nor log.
func looking(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	return confine.Access{List: append([]string{cfg.WorkspaceDir}, cfg.Readable()...)}
}

// making is for the command that makes the keys.
func making(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	dir := cfg.KeysDir()
	_ = os.MkdirAll(dir, 0o700) // what cannot be made is reported when the keys are
	return confine.Access{Write: []string{dir}}
}
