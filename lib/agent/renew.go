package agent

import (
	"context"
	"errors"
	"path/filepath"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// renew takes up what was edited since the last turn: the loop continues the conversation under the configuration as it
// is now, with stages that have read it. Until it can be read, there is no turn: half of a policy is none.
func (r *runner) renew(ctx context.Context) error {
	changed := r.config.Outdated()
	if changed == "" && !r.denied {
		return nil
	}
	cfg, err := r.call.Reload()
	if err != nil {
		return again(err)
	}
	lo, siblings, err := r.options.around(r.call, cfg, r)
	if err == nil {
		err = r.options.tools(ctx, siblings, cfg, lo)
	}
	if err != nil {
		return again(err)
	}
	r.loop.Renew(*lo)
	if r.config.Memory.Path != cfg.Memory.Path {
		r.loop.Seen = lo.Seen // the new memory has nothing of this conversation to read again
	}
	if changed != "" && (changed != cfg.File || !r.config.SameSettings(cfg)) {
		r.call.Tell("policy_changed", filepath.Base(changed)+" changed: the new policy applies from now on", "path",
			changed)
	}
	r.config, r.denied = cfg, false
	return nil
}

// check tells why no tool may run any more in the turn that is running: what was edited cannot be read.
func (r *runner) check() error {
	if file, rules := r.config.Changed(); !file && !rules {
		return nil
	}
	if _, err := r.call.Reload(); err != nil {
		return again(err)
	}
	return nil
}

// again says what to do once the configuration is mended.
func again(err error) error {
	e := *envelope.From(err)
	if e.Code == "cancelled" {
		return err
	}
	var problems *config.Problems
	if errors.As(err, &problems) {
		e.Code, e.Exit = problems.ErrorCode(), problems.ExitCode()
	}
	if e.Hint != "" {
		e.Hint += "; "
	}
	e.Hint += "fix it, then send the message again; no turn begins until then"
	return &e
}

// outdated tells whether a stage found its policy changed in a turn, which none of its calls survives until it is
// started again.
func outdated(f record.Final) bool {
	for _, d := range f.Denials {
		if d.Rule == "policy.changed" {
			return true
		}
	}
	return false
}
