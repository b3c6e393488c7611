package policy

import (
	"errors"
	"fmt"
	"io/fs"

	"clawsh/lib/config"
)

// InForce is the policy that is in force at the moment that somebody asks: a rule that is written or removed counts at
// once. What else a process has made of its configuration does not change while it runs. So when the configuration's
// policy is another one than it began with, it has none any more.
type InForce struct {
	config *config.Config
	policy *Policy
	load   func() (*config.Config, error)
	again  string // what to do once there is none
}

// NewInForce returns the policy of a configuration; load reads it again. again says what people do when it has changed.
func NewInForce(cfg *config.Config, load func() (*config.Config, error), again string) (*InForce, error) {
	p, err := New(cfg, OS{})
	if err != nil {
		return nil, err
	}
	return &InForce{cfg, p, load, again}, nil
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
		return nil, f.unreadable(file, err)
	}
	cfg := f.config.With(later)
	p, err := New(cfg, OS{})
	if err != nil {
		return nil, f.unreadable(file, err)
	}
	if file {
		now, err := New(later, OS{})
		if err != nil || now.Hash() != p.Hash() {
			return nil, fmt.Errorf("%s changed the policy while this was running: %s", f.config.File, f.again)
		}
	}
	f.config, f.policy = cfg, p
	return p, nil
}

// unreadable says what became of a file that is not the one that was read. One that was put in its place cannot be
// opened from inside the confinement: that says nothing about what is in it.
func (f *InForce) unreadable(file bool, err error) error {
	name := f.config.RulesPath()
	if file {
		name = f.config.File
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s was replaced while this was running: %s", name, f.again)
	}
	return fmt.Errorf("%s changed while this was running, and is now invalid: %w: fix it, then %s", name, err, f.again)
}

func (f *InForce) reread(file bool) (*config.Config, error) {
	if file {
		return f.load()
	}
	return f.config.WithRules()
}
