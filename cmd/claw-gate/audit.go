package main

import (
	"context"

	"github.com/spf13/pflag"

	"clawsh/lib/audit"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
)

// auditing is claw-gate audit.
func auditing() command.Command {
	mend := false
	return command.Command{Name: "audit", Summary: "check that the gate wrote every line of the audit log",
		Long: `Reads audit.jsonl and counts its lines: written by the gate, truncated by a crash, and not written by the gate. The exit
code is 1 if there are any of the last kind. While they are at the end of the log, every call is denied; --mend moves
them into a file beside the log.`,
		Example: "claw-gate audit\nclaw-gate audit --mend",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&mend, "mend", false,
				"move bytes at the end that the gate did not write into a file beside the log")
		},
		Access: func(_ *command.Call, cfg *config.Config) confine.Access {
			if cfg == nil {
				return confine.Access{}
			}
			if !mend {
				return confine.Access{Read: []string{cfg.AuditPath()}}
			}
			return confine.Access{Own: []string{cfg.AuditPath(), asideOf(cfg)}, List: []string{cfg.Home}}
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			look := audit.Check
			if mend {
				look = func(path string) (*audit.Report, error) { return audit.Mend(path, asideOf(cfg)) }
			}
			res, err := look(cfg.AuditPath())
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitError, "audit.unavailable", "check the audit log: %w", err)
			}
			if res.Foreign == 0 && res.AtEnd == 0 || mend && res.MovedTo != "" {
				return res, nil
			}
			e := envelope.Errorf(envelope.ExitError, "audit.foreign",
				"%s contains lines that the gate did not write, the first is line %d", res.Path, res.First)
			if res.AtEnd > 0 {
				return res,
					e.WithHint("inspect it; claw-gate audit --mend moves such bytes at the end into a file beside it")
			}
			return res,
				e.WithHint("inspect it: these lines decide nothing, but whoever wrote them may have changed others")
		}}
}

func asideOf(cfg *config.Config) string { return cfg.AuditPath() + ".foreign" }
