package policy

import (
	"fmt"

	"clawsh/lib/config"
)

// InForce is the policy that is in force at the moment that somebody asks: a rule that is written or removed counts at once. What
// else a process has made of its configuration does not change while it runs. So when the configuration's policy is another one
// than it began with, it has none any more.
type InForce struct {
	config *config.Config
	policy *Policy
	load   func() (*config.Config, error)
}

// NewInForce returns the policy of a configuration; load reads it again.
func NewInForce(cfg *config.Config, load func() (*config.Config, error)) (*InForce, error) {
	p, err := New(cfg, OS{})
	if err != nil {
		return nil, err
	}
	return &InForce{cfg, p, load}, nil
}

// Config is the configuration with the rules in force.
func (f *InForce) Config() *config.Config { return f.config }

// Policy is what is in force now. An error means that nothing may run.
func (f *InForce) Policy() (*Policy, error) {
	file, rules := f.config.Changed()
	if !file && !rules {
		return f.policy, nil
	}
	later, err := f.reread(file)
	if err != nil {
		return nil, fmt.Errorf("the policy changed and cannot be read again: %w; start again", err)
	}
	cfg := f.config.With(later)
	p, err := New(cfg, OS{})
	if err != nil {
		return nil, fmt.Errorf("the policy changed and cannot be read again: %w; start again", err)
	}
	if file {
		now, err := New(later, OS{})
		if err != nil || now.Hash() != p.Hash() {
			return nil, fmt.Errorf("%s changed what the policy is while this was running: start again", f.config.File)
		}
	}
	f.config, f.policy = cfg, p
	return p, nil
}

func (f *InForce) reread(file bool) (*config.Config, error) {
	if file {
		return f.load()
	}
	return f.config.WithRules()
}
