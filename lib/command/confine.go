package command

import (
	"os"
	"path/filepath"
	"slices"

	"clawsh/lib/confine"
	"clawsh/lib/envelope"
)

// confine gives up what the command has no use for. Only a program that runs alone does so (Main): it is for good.
func (p *program) confine(c Command, call *Call) error {
	access := c.Access
	if access == nil {
		access = p.Access
	}
	if !p.alone || access == nil || c.HandOver {
		return nil
	}
	cfg, err := call.load()
	if err != nil {
		cfg = nil
	}
	return call.Confine(access(call, cfg))
}

// Confine gives up everything but the access, the configuration and the trace (CLAWSH_TRACE), for good.
func (c *Call) Confine(a confine.Access) error {
	if paths, err := c.Paths(); err == nil {
		a.Read = slices.Concat(a.Read, []string{paths.File, filepath.Join(paths.Home, "rules.toml")})
	}
	if dir := c.Getenv("CLAWSH_TRACE"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil && os.MkdirAll(abs, 0o700) == nil {
			a.Own = slices.Concat(a.Own, []string{filepath.Join(abs, c.App+".jsonl")})
		}
	}
	if coverDir != "" {
		a.Write = slices.Concat(a.Write, []string{coverDir})
	}
	report, err := confine.Self(a)
	if err != nil {
		return envelope.Errorf(envelope.ExitSandbox, "confine.failed", "%w", err)
	}
	c.Log.Debug("confined", "landlock_abi", report.LandlockABI, "filter_sha256", report.Filter, "lacking",
		report.Lacking)
	return nil
}
