package programs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Option is what is known of an option.
type Option struct {
	Name  string
	Value bool // it takes one
	Glued bool // only glued to it
	Never bool // it is known, so that abbreviations are told apart, and refused
	Kind  Kind // of the value
	word  bool // it is none
}

// Options are those of a program, in the order of its file.
// They are few: looking through them is faster than making a table.
type Options struct {
	own      []Option
	included []*Options
	whole    []string // which cannot be abbreviated
}

// all visits the options until one is done with.
func (o *Options) all(done func(Option) bool) bool {
	for _, from := range o.included {
		if from.all(done) {
			return true
		}
	}
	return slices.ContainsFunc(o.own, done)
}

// Option is what is known of one by its full name.
func (o *Options) Option(name string) (found Option, ok bool) {
	return found, o.all(func(known Option) bool {
		if known.Name == name {
			found, ok = known, true
		}
		return ok
	})
}

// OptionNames are the names of all options that are understood.
func (o *Options) OptionNames() []string {
	var out []string
	o.all(func(known Option) bool {
		if !known.Never && !known.word {
			out = append(out, known.Name)
		}
		return false
	})
	return out
}

// Full finds the long option that a name means, also abbreviated. Where several begin so, the program refuses it.
func (o *Options) Full(name string) (string, bool) {
	if _, ok := o.Option(name); ok {
		return name, true
	}
	found, ambiguous := "", false
	o.all(func(known Option) bool {
		if strings.HasPrefix(known.Name, "--") && strings.HasPrefix(known.Name, name) {
			ambiguous = found != "" || o.isWhole(known.Name)
			found = known.Name
		}
		return ambiguous
	})
	return found, found != "" && !ambiguous && len(name) > 2
}

func (o *Options) isWhole(name string) bool {
	included := func(from *Options) bool { return from.isWhole(name) }
	return slices.Contains(o.whole, name) || slices.ContainsFunc(o.included, included)
}

func (o *Options) add(option Option) error {
	if _, ok := o.Option(option.Name); ok {
		return fmt.Errorf("%s is given twice", option.Name)
	}
	o.own = append(o.own, option)
	return nil
}

// isOption tells whether a text is the name of an option: -a, -name or --name.
func isOption(name string) bool {
	rest, dash := strings.CutPrefix(name, "-")
	rest, long := strings.CutPrefix(rest, "-")
	if !dash || rest == "" || long && len(rest) < 2 || !letter(rest[0]) {
		return false
	}
	for i := range len(rest) {
		if c := rest[i]; !letter(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// option takes a line like -a, -n=number or --color[=text].
func (r *parser) option(line string) error {
	name, kind, value := strings.Cut(line, "=")
	name, glued := strings.CutSuffix(name, "[")
	kind, closed := strings.CutSuffix(kind, "]")
	if glued != closed || glued && !value || !isOption(name) {
		return fmt.Errorf("%q is not an option: want one like -a, -n=number or --color[=text]", line)
	}
	o := Option{Name: name, Value: value, Glued: glued}
	if value {
		k, err := kindOf(kind)
		if err != nil {
			return err
		}
		o.Kind = k
	}
	return r.on.add(o)
}

// named takes a keyword with the name of an option, or with a word.
func (r *parser) named(key string, words []string) error {
	name, err := one(key, words)
	known, ok := r.on.Option(name)
	switch {
	case err != nil:
		return err
	case key == "word":
		return r.on.add(Option{Name: name, word: true})
	case !strings.HasPrefix(name, "--") || !isOption(name):
		return fmt.Errorf("%s wants a long option", key)
	case key == "never":
		return r.on.add(Option{Name: name, Value: true, Never: true})
	case !ok || known.Never:
		return errors.New("whole wants an option that is given above")
	}
	r.on.whole = append(r.on.whole, name)
	return nil
}
