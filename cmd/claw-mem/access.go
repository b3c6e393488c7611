package main

import (
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
)

// access is the row of all commands: the memory's database and the mirrors of sessions. It has no network and starts nothing.
//
// SQLite makes and removes files beside the database. They are made before the program confines itself, since a rule is for a
// file that is there; a database that is not there yet takes the right over its directory.
func access(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	db := cfg.Memory.Path
	if real, err := filepath.EvalSymlinks(db); err == nil {
		db = real
	}
	a := confine.Access{Write: []string{filepath.Join(cfg.Home, "agents")}}
	if info, err := os.Stat(db); err != nil || info.Size() == 0 {
		a.Write = append(a.Write, filepath.Dir(db), cfg.Home)
		return a
	}
	a.Own = []string{db, db + "-wal", db + "-shm"}
	a.Names = []string{filepath.Dir(db)}
	return a
}
