package programs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"clawsh/lib/spelling"
)

// parser reads a file line by line.
type parser struct {
	found  []*Program
	p      *Program // the one that is described
	on     *Program // what options are for: it, a command of it, or a group
	c      *Command // the command that is described
	groups map[string]*Program
	set    map[given]bool // what may not be given again
}

// given is a keyword of a program, of a command, or of options.
type given struct {
	on  *Program
	key string
}

// parse reads the text of a file. The error names its line.
func parse(file, text string) ([]*Program, error) {
	r := &parser{}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n, err)
	}
	return r.found, nil
}

func (r *parser) line(line string) error {
	if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == unicode.ReplacementChar }) {
		return errors.New("it holds a character that cannot be seen")
	}
	key, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if key[0] == '-' && rest == "" && r.p != nil {
		return r.option(key)
	}
	words := strings.Fields(rest)
	switch {
	case begins(key):
		return r.begin(How(key), words)
	case r.p == nil:
		return errors.New("want program, wrapper or other first")
	case key[0] == '-':
		return fmt.Errorf("want one option a line, not %q after %s", rest, key)
	}
	switch key {
	case "match", "not_match":
		return r.example(key, rest)
	case "options", "command":
		return r.section(key, words)
	case "never", "whole", "word":
		return r.named(key, words)
	case "include":
		return r.include(words)
	}
	if r.set[given{r.on, key}] {
		return fmt.Errorf("%s is given twice", key)
	}
	r.set[given{r.on, key}] = true
	return r.property(key, rest, words)
}

// property takes what is said once of a program, or of a command.
func (r *parser) property(key, rest string, words []string) (err error) {
	if r.on != r.p && key != "first" && key != "not_first" {
		return fmt.Errorf("%s belongs before the first options or command", key)
	}
	switch Trait(key) {
	case Reads, AnyWords, Prints, Shell, Downloads, RunsText:
		return r.trait(Trait(key), words)
	}
	switch key {
	case "rule":
		r.p.Rule, err = one(key, words)
	case "check":
		r.p.Check, err = one(key, words)
	case "flags":
		r.p.Flags, err = one(key, words)
	case "lookup":
		r.p.Lookup, err = one(key, words)
	case "digits":
		r.p.Digits, err = true, none(key, words)
	case "assigns":
		r.p.Assigns, err = true, none(key, words)
	case "wraps":
		r.p.Wraps, err = count(rest)
	case "most":
		r.p.Most, err = count(rest)
	case "operands":
		r.p.Operands, err = kindsOf(words)
	case "last":
		var kinds []Kind
		if kinds, err = kindsOf(words); err == nil && len(kinds) > 1 {
			err = errors.New("last wants one kind of word")
		}
		if err == nil {
			r.p.Last, r.p.HasLast = kinds[0], true
		}
	case "keeps":
		r.p.Keeps = words
	case "first", "not_first":
		return r.first(key, words)
	default:
		return fmt.Errorf("unknown keyword %q", key)
	}
	return err
}

func (r *parser) begin(how How, names []string) error {
	if err := r.finish(); err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no name", how)
	}
	for i, name := range names {
		if !letter(name[0]) || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.+_-") != "" {
			return fmt.Errorf("%q is not the name of a program", name)
		}
		described := func(p *Program) bool { return slices.Contains(p.Names, name) }
		if slices.Contains(names[:i], name) || slices.ContainsFunc(r.found, described) {
			return fmt.Errorf("%s is described twice", name)
		}
	}
	r.p = &Program{Names: names, How: how, traits: map[Trait][]string{}}
	r.on, r.c, r.found = r.p, nil, append(r.found, r.p)
	r.set, r.groups = map[given]bool{}, map[string]*Program{}
	return nil
}

// finish looks at the program before, of which all is known now.
func (r *parser) finish() error {
	switch {
	case r.p == nil:
		return nil
	case r.p.How == Modelled && (len(r.p.Match) == 0 || len(r.p.NotMatch) == 0):
		return fmt.Errorf("%s needs examples of both kinds: match and not_match", r.p.Names[0])
	}
	if r.p.How == Wrapper {
		for _, o := range r.p.own {
			if !o.Value && len(o.Name) == 2 && o.Name[0] == '-' {
				r.p.Flags += o.Name[1:]
			}
		}
	}
	for _, c := range r.p.Commands {
		c.Digits, c.Operands = r.p.Digits, r.p.Operands
	}
	return nil
}

func (r *parser) example(key, text string) error {
	if text == "" {
		return fmt.Errorf("%s has no command", key)
	}
	if key == "match" {
		r.p.Match = append(r.p.Match, text)
	} else {
		r.p.NotMatch = append(r.p.NotMatch, text)
	}
	return nil
}

// section begins options that several commands have, or a command.
func (r *parser) section(key string, words []string) error {
	name, err := one(key, words)
	if err != nil {
		return err
	}
	_, group := r.groups[name]
	_, command := r.p.Commands[name]
	switch {
	case key == "options" && group, key == "command" && command:
		return fmt.Errorf("%s %s is given twice", key, name)
	case key == "options":
		r.on, r.c = &Program{}, nil
		r.groups[name] = r.on
		return nil
	case r.p.Commands == nil:
		r.p.Commands = map[string]*Command{}
	}
	r.c = &Command{Program: Program{Names: []string{r.p.Names[0] + " " + name}}}
	r.p.Commands[name], r.on = r.c, &r.c.Program
	return nil
}

func (r *parser) include(words []string) error {
	name, err := one("include", words)
	if err != nil {
		return err
	}
	group, ok := r.groups[name]
	if !ok || group == r.on {
		return fmt.Errorf("there are no options %q above", name)
	}
	twice := ""
	if group.all(func(known Option) bool { _, is := r.on.Option(known.Name); twice = known.Name; return is }) {
		return fmt.Errorf("%s is given twice", twice)
	}
	r.on.included = append(r.on.included, &group.Options)
	return nil
}

func (r *parser) first(key string, words []string) error {
	switch {
	case r.c == nil:
		return fmt.Errorf("%s belongs to a command", key)
	case key == "first":
		r.c.First, r.c.HasFirst = words, true
	default:
		r.c.NotFirst = words
	}
	return nil
}

// trait takes what a program is, of all its names or of some.
func (r *parser) trait(t Trait, names []string) error {
	for _, name := range names {
		if !slices.Contains(r.p.Names, name) {
			return fmt.Errorf("%s: %q is not described here", t, name)
		}
	}
	if len(names) == 0 {
		names = r.p.Names
	}
	r.p.traits[t] = names
	return nil
}

func one(key string, words []string) (string, error) {
	if len(words) != 1 {
		return "", fmt.Errorf("%s wants one word", key)
	}
	return words[0], nil
}

func none(key string, words []string) error {
	if len(words) > 0 {
		return fmt.Errorf("%s stands alone", key)
	}
	return nil
}

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 9 {
		return 0, fmt.Errorf("%q is not a number from 1 to 9", text)
	}
	return n, nil
}

var kindNames = []string{Text: "text", Number: "number", Read: "read", Tree: "tree", Write: "write"}

func kindOf(word string) (Kind, error) {
	k := slices.Index(kindNames, word)
	if k < 0 {
		return 0, fmt.Errorf("%q is not a kind of word: want %s", word, spelling.Or(kindNames))
	}
	return Kind(k), nil
}

func kindsOf(words []string) ([]Kind, error) {
	var out []Kind
	for _, w := range words {
		k, err := kindOf(w)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	if len(out) == 0 {
		return nil, errors.New("want a kind of word")
	}
	return out, nil
}
