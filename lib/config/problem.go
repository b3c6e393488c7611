package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// Problem is one error in the configuration. Line and Column count from 1; Key is the dotted name.
type Problem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"`
	Message string `json:"message"`
}

// Problems are all errors of a file, in the order of their positions. It is an error with exit code 78.
type Problems struct {
	File string
	List []Problem
	// variables are what the paths of the file name.
	variables []string
}

// Error lists all problems, a line each.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, x := range p.List {
		text := x.Message
		switch {
		case x.Key == "":
		case strings.HasPrefix(text, "want "):
			text = x.Key + ": " + text
		default:
			text = x.Key + " " + text
		}
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", filepath.Base(p.File), x.Line, x.Column, text)
	}
	return strings.Join(lines, "\n")
}

// ExitCode is 78.
func (p *Problems) ExitCode() int { return envelope.ExitConfig }

// ErrorCode is the code of the JSON envelope.
func (p *Problems) ErrorCode() string { return "config.invalid" }

func (p *Problems) sort() {
	slices.SortStableFunc(p.List,
		func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	p.List = slices.CompactFunc(p.List, func(a, b Problem) bool { return a == b })
}

// complete adds problems in lines of which nothing has been said yet.
func (p *Problems) complete(more []Problem) {
	said := map[int]bool{}
	for _, x := range p.List {
		said[x.Line] = true
	}
	for _, x := range more {
		if !said[x.Line] {
			p.List = append(p.List, x)
		}
	}
}

// quote shows a value in a message: bounded, escaped, and not at all where it could be a secret.
func quote(key, value string) string {
	if value == "" {
		return `""`
	}
	low := strings.ToLower(key)
	for _, word := range []string{"key", "token", "secret", "password", "url"} {
		if strings.Contains(low, word) {
			return "(not shown)"
		}
	}
	if strings.Contains(value, "@") {
		return "(not shown)" // a password may stand before it
	}
	return fmt.Sprintf("%+q", record.Brief(value, 65))
}
