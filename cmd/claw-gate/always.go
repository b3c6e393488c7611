package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/policy"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// always offers the rule that would answer this question from now on, and writes it if the person says so again. It tells
// whether the call may run. A rule that cannot be written is said so, and the yes is to this call.
func (g *gate) always(ctx context.Context, r config.Rule, words string) (bool, error) {
	const question = "Write the rule, and run the call? [y/N] "
	shown := fmt.Sprintf("\nThis rule allows %s:\n  name    %s\n  when    %s\n  decide  %s\nIt will be appended to %s. To remove it: clawsh policy rules remove %s\n%s",
		terminal.Escape(words), r.Name, terminal.Sanitize(r.When), r.Decide, terminal.Escape(g.config.RulesPath()), r.Name, question)
	given, err := terminal.Choose(ctx, shown, typed(writings()), again(writings(), question))
	if err != nil || given != "y" && given != "yes" {
		return false, err
	}
	if err := g.adopt(r); err != nil {
		g.call.Log.Warn("the rule was not written; the call is allowed once", "rule", r.Name, "error", err.Error())
	}
	return true, nil
}

// adopt writes a rule, and decides by it from now on.
func (g *gate) adopt(r config.Rule) error {
	cfg := *g.config
	cfg.Written = append(slices.Clone(cfg.Written), r)
	if _, err := policy.New(&cfg, policy.OS{}); err != nil { // a rule that nobody can read would end this session
		return err
	}
	if err := appendRule(cfg.RulesPath(), r); err != nil {
		return err
	}
	return g.refresh()
}

// maxRules bounds the file of rules, well below what the configuration reads of it.
const maxRules = 256 << 10

// appendRule appends a rule to the file, under its lock, and syncs it. What a crash has torn before is cut off; a rule of the
// same name is the same rule.
func appendRule(path string, r config.Rule) error {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := durable.Flock(f, unix.LOCK_EX); err != nil {
		return err
	}
	have, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err != nil {
		return err
	}
	whole := config.Whole(have)
	rules, err := config.ParseRules(whole)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(o config.Rule) bool { return o.Name == r.Name }) {
		return nil
	}
	block := r.Block(record.Now())
	if len(whole) > 0 && !bytes.HasSuffix(whole, []byte("\n")) {
		block = append([]byte("\n"), block...)
	}
	if len(whole)+len(block) > maxRules {
		return fmt.Errorf("%s would be longer than %d bytes; remove rules first", path, maxRules)
	}
	if back, err := config.ParseRules(slices.Concat(whole, block)); err != nil || len(back) != len(rules)+1 || back[len(rules)].When != r.When {
		return errors.Join(errors.New("the rule cannot be written as TOML"), err)
	}
	if err := f.Truncate(int64(len(whole))); err != nil {
		return err
	}
	if _, err := f.WriteAt(block, int64(len(whole))); err != nil {
		return err
	}
	return f.Sync()
}
