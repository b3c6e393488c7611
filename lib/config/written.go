package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"clawsh/lib/envelope"
)

// Origins of rules.
const (
	RuleOfConfig = "config"
	RuleWritten  = "rules.toml"
)

// writtenMark begins a rule that claw-gate has written at a question. Its last line is its decision: what lacks that
// was torn by a crash, and counts for nothing.
const writtenMark = "# written at the question, "

const alwaysPrefix = "always-"

// AlwaysName is the name of a rule that is written at a question: it tells whether the rule is still what was written.
func AlwaysName(when string) string {
	return alwaysPrefix + fmt.Sprintf("%x", sha256.Sum256([]byte(when)))[:12]
}

// RulesPath is the file of the rules written at approval questions (a).
func (c *Config) RulesPath() string { return rulesPath(c.Home) }

func rulesPath(home string) string { return filepath.Join(home, "rules.toml") }

// OwnRules returns the user's rules: those of the configuration, then those written at approval questions.
func (c *Config) OwnRules() []Rule {
	out := make([]Rule, 0, len(c.Security.Rules)+len(c.Written))
	for _, r := range c.Security.Rules {
		r.Origin = RuleOfConfig
		out = append(out, r)
	}
	for _, r := range c.Written {
		r.Origin = RuleWritten
		out = append(out, r)
	}
	return out
}

// loadWritten reads the rules that were written at the question.
func (c *Config) loadWritten() error {
	path := c.RulesPath()
	data, err := readOwn(path, maxFileBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return envelope.Errorf(envelope.ExitConfig, "config.unreadable", "read the rules in %s: %w", path, reason(err))
	}
	if c.Written, err = ParseRules(data); err != nil {
		return envelope.Errorf(envelope.ExitConfig, "config.invalid", "%s: %w", path, err).
			WithHint("correct it, or remove it; clawsh then asks again")
	}
	for _, r := range c.Written {
		if hash, ok := strings.CutPrefix(r.Name, alwaysPrefix); ok && r.Name != AlwaysName(r.When) {
			return envelope.Errorf(envelope.ExitConfig, "config.invalid", "%s: the rule %s%s was changed by hand", path,
				alwaysPrefix, quote("", hash)).
				WithHint("give a rule that you changed another name")
		}
	}
	problems := &Problems{File: path}
	v := &validator{problems: problems}
	v.rules(c.OwnRules())
	if len(problems.List) > 0 {
		return problems
	}
	return nil
}

// Whole is what counts of a file of rules: without a last one that a crash has torn.
func Whole(data []byte) []byte {
	at := bytes.LastIndex(data, []byte(writtenMark))
	if at < 0 || at > 0 && data[at-1] != '\n' {
		return data
	}
	block := data[at:]
	if decide := bytes.Index(block, []byte("\ndecide = ")); decide < 0 || bytes.IndexByte(block[decide+1:], '\n') < 0 {
		return data[:at]
	}
	return data
}

// ParseRules reads a file of rules: [[security.rules]] and nothing else.
func ParseRules(data []byte) ([]Rule, error) {
	var f struct {
		Security struct {
			Rules []Rule `toml:"rules"`
		} `toml:"security"`
	}
	d := toml.NewDecoder(bytes.NewReader(Whole(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) {
			return nil, errors.New("want [[security.rules]] and nothing else")
		}
		return nil, fmt.Errorf("syntax: %s", syntaxMessage(err))
	}
	return f.Security.Rules, nil
}

// Block is a rule as it is appended to the file of rules.
func (r Rule) Block(at string) []byte {
	list := func(items []string) string {
		out := make([]string, len(items))
		for i, s := range items {
			out[i] = tomlText(s)
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	return fmt.Appendf(nil,
		"%s%s\n[[security.rules]]\nname = %s\nreason = %s\nwhen = %s\nmatch = %s\nnot_match = %s\ndecide = %s\n",
		writtenMark, at, tomlText(r.Name),
		tomlText(r.Reason), tomlText(r.When), list(r.Match), list(r.NotMatch), tomlText(r.Decide))
}

// tomlText is a text as a TOML basic string.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
