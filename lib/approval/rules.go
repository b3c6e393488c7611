package approval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// maxRules bounds the file of rules, well below what the configuration reads of it.
const maxRules = 256 << 10

// AppendRule appends a rule to the file, under its lock, and syncs it. What a crash has torn before is cut off; a rule
// of the same name is the same rule.
func AppendRule(path string, r config.Rule) error {
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
	if back, err := config.ParseRules(slices.Concat(whole, block)); err != nil || len(back) != len(rules)+1 ||
		back[len(rules)].When != r.When {
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

// RemoveRule takes a rule out of the file, in place, so that running gates keep their file. A crash in the middle
// leaves a file that the configuration refuses, or one rule more than there should be, never another rule.
func RemoveRule(path, name string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("remove the rule: %w", err)
	}
	defer f.Close()
	if err := durable.Flock(f, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the rules: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err != nil {
		return fmt.Errorf("read the rules: %w", err)
	}
	left, found := without(config.Whole(data), name)
	if !found {
		return envelope.Errorf(envelope.ExitError, "not_found", "there is no rule %s in %s", terminal.Escape(name),
			path).WithHint("list them with: clawsh policy rules")
	}
	// What follows the rule moves up; until the file is cut, its old end is a second time there, which the next look
	// refuses.
	if _, err := f.WriteAt(left, 0); err != nil {
		return fmt.Errorf("remove the rule: %w", err)
	}
	if err := f.Truncate(int64(len(left))); err != nil {
		return fmt.Errorf("remove the rule: %w", err)
	}
	return f.Sync()
}

// without is a file of rules without one: its table, and the comments right before it.
func without(data []byte, name string) ([]byte, bool) {
	lines := strings.SplitAfter(string(data), "\n")
	var out bytes.Buffer
	found := false
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "# written at the question, ") &&
			!(strings.HasPrefix(lines[end], "[[") && !strings.HasPrefix(lines[end-1], "#")) {
			end++
		}
		block := strings.Join(lines[i:end], "")
		if rules, err := config.ParseRules([]byte(block)); err == nil && len(rules) == 1 && rules[0].Name == name {
			found = true
		} else {
			out.WriteString(block)
		}
		i = end
	}
	return out.Bytes(), found
}
