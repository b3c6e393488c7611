package main

import (
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/receipt"
	"clawsh/lib/receiptlog"
)

// Of the keys, only those of receipts are in any row; no command has the network, or starts anything.

// access is the row of the filter and of recover: they write receipts, and read the gate's log.
func access(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	if _, err := os.Lstat(cfg.KeysDir()); err != nil { // no home: nothing is made
		return confine.Access{}
	}
	if receiptlog.Of(cfg).Moved() != nil { // nothing is made before the receipts are there
		return confine.Access{Own: []string{cfg.UnderWayPath()}, Read: []string{cfg.ReceiptKeysDir()}}
	}
	_ = os.MkdirAll(cfg.ExecutorsDir(), 0o700) // claw-exec may make its key later: without it, nothing is attested
	_ = os.MkdirAll(cfg.ReceiptsDir(), 0o700)  // what cannot be made is reported when it is opened
	return confine.Access{Own: []string{cfg.Receipts.Path, cfg.UnderWayPath()}, Write: []string{cfg.ReceiptsDir()},
		Read: []string{cfg.ReceiptKeysDir(), cfg.ExecutorsDir(), cfg.AuditPath()},
		List: []string{filepath.Dir(cfg.Receipts.Path)}}
}

// looking is for the commands that look at receipts.
func looking(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	return confine.Access{Read: []string{cfg.Receipts.Path, cfg.ReceiptsDir(), cfg.ReceiptKeysDir(), cfg.AuditPath()}}
}

// indexing is for those that go by the tiles of the log, which they make where these are missing or wrong. Nobody
// believes a tile unchecked.
func indexing(c *command.Call, cfg *config.Config) confine.Access {
	a := looking(c, cfg)
	if cfg == nil {
		return a
	}
	if dir, err := receipt.MakeTileDir(cfg.Receipts.Path); err == nil {
		a.Write = append(a.Write, dir)
	}
	return a
}

// making is for the command that makes keys.
func making(c *command.Call, cfg *config.Config) confine.Access {
	a := access(c, cfg)
	if cfg == nil {
		return a
	}
	if _, err := os.Lstat(cfg.KeysDir()); err == nil {
		_ = os.MkdirAll(cfg.ReceiptKeysDir(), 0o700)
		a.Write = append(a.Write, cfg.ReceiptKeysDir())
	}
	return a
}

// files are paths from the command line, which a command reads too.
func files(a confine.Access, paths ...string) confine.Access {
	for _, p := range paths {
		if abs, err := filepath.Abs(p); err == nil && p != "" && p != "-" {
			a.Read = append(a.Read, abs)
		}
	}
	return a
}
