package config

import (
	"io/fs"
	"os"
	"reflect"
	"syscall"
)

// stamps tell whether the files that a policy is made of are still those that were read.
type stamps struct{ file, rules fs.FileInfo }

// stamp looks at the files before they are read, so that no change in between is missed.
func stamp(file, rules string) stamps {
	var s stamps
	s.file, _ = os.Stat(file)
	s.rules, _ = os.Lstat(rules)
	return s
}

// Changed reports whether the configuration, or the rules written at approval questions, may have changed since they
// were read.
func (c *Config) Changed() (file, rules bool) {
	now := stamp(c.File, c.RulesPath())
	return differs(c.stamps.file, now.file), differs(c.stamps.rules, now.rules)
}

func differs(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return (a == nil) != (b == nil)
	}
	return !os.SameFile(a, b) || a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime())
}

// Outdated names the file by which a program that was started with this configuration has to be started again: the
// configuration changed, or the rules are another file, which a program that has confined itself cannot open. Empty:
// neither. Rules that are written into the same file count without.
func (c *Config) Outdated() string {
	now := stamp(c.File, c.RulesPath())
	if differs(c.stamps.file, now.file) {
		return c.File
	}
	if c.stamps.rules == nil {
		c.stamps.rules = now.rules // claw-gate makes it (MakeRules)
		return ""
	}
	if now.rules == nil || !os.SameFile(c.stamps.rules, now.rules) {
		return c.RulesPath()
	}
	return ""
}

// SameSettings tells whether two readings of the configuration say the same, but for the rules that are written at the
// question.
func (c *Config) SameSettings(other *Config) bool {
	a, b := *c, *other
	a.stamps, b.stamps, a.Written, b.Written = stamps{}, stamps{}, nil, nil
	return reflect.DeepEqual(a, b)
}

// WithRules returns the configuration with the rules that are written now.
func (c *Config) WithRules() (*Config, error) {
	now := *c
	now.stamps.rules, _ = os.Lstat(c.RulesPath())
	return &now, now.loadWritten()
}

// With returns the configuration with the rules of another one, read later from the same files.
func (c *Config) With(later *Config) *Config {
	now := *c
	now.stamps, now.Written = later.stamps, later.Written
	return &now
}

// MakeRules creates an empty rules file if there is none, so that a program that confines itself can read rules that
// are added later. A failure is not an error: then there are no rules.
func (c *Config) MakeRules() {
	f, err := os.OpenFile(c.RulesPath(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	f.Close()
	if _, rules := c.Changed(); rules && c.stamps.rules == nil {
		c.stamps.rules, _ = os.Lstat(c.RulesPath())
	}
}
