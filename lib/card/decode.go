package card

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// Decode decodes the arguments of a call strictly: an object with only known names and all required ones, without
// ambiguous numbers.
func (c Card) Decode(raw record.Raw) (Arguments, error) {
	v := reflect.New(reflect.TypeOf(c.Args))
	return Arguments{v.Elem()}, decode(raw, v)
}

// Decode is like Card.Decode for a caller that knows the type of the arguments. Values must also be those of the tag
// want.
func Decode[A any](raw record.Raw) (args A, err error) {
	v := reflect.ValueOf(&args)
	if err = decode(raw, v); err == nil {
		err = wanted(v.Elem())
	}
	return args, err
}

func decode(raw record.Raw, into reflect.Value) error {
	if err := record.CheckNumbers(raw); err != nil {
		return err
	}
	if raw.Kind() != '{' {
		return notObject(raw)
	}
	err := record.Decode(raw, into.Interface())
	if err == nil {
		err = complete(raw, into.Elem())
	}
	if c, ok := into.Interface().(interface{ check() error }); ok && err == nil {
		err = c.check()
	}
	if err != nil {
		return fmt.Errorf("%w; it takes %s", err, takes(into.Type().Elem()))
	}
	return nil
}

// notObject describes arguments that are not an object. Arguments that were not JSON come as a text.
func notObject(raw record.Raw) error {
	var text string
	if record.Decode(raw, &text) != nil {
		return errors.New("want a JSON object")
	}
	var any record.Raw
	if err := record.Decode(record.Raw(text), &any); err != nil {
		return fmt.Errorf("they are not JSON: %s of %d; call again with a JSON object",
			strings.TrimPrefix(err.Error(), "invalid JSON: "), len(text))
	}
	if any.Kind() == '{' {
		if err := record.CheckNumbers(any); err != nil {
			return err
		}
		return errors.New("they are a text that holds an object, or nested too deep; send the object itself")
	}
	return errors.New("they are JSON, but not an object; call again with one")
}

func missing(name string) error { return errors.New(name + " is missing") }

// complete checks that the required arguments are there.
func complete(raw record.Raw, v reflect.Value) error {
	for a := range arguments(v) {
		if !a.required || !a.value.IsZero() {
			continue
		}
		members, err := record.Members(raw)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(members, func(m record.Member) bool {
			return m.Name == a.name &&
				m.Value.Kind() != 'n'
		}) {
			return missing(a.name)
		}
	}
	return nil
}

// wanted returns an error for values that the tags do not name.
func wanted(v reflect.Value) error {
	for a := range arguments(v) {
		a.value = reflect.Indirect(a.value)
		var err error
		switch {
		case !a.value.IsValid() || a.want == "":
		case a.value.CanInt():
			err = a.inRange(a.value.Int())
		case a.value.Kind() == reflect.String:
			err = a.among(a.value.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a argument) inRange(n int64) error {
	low, high, ranged := strings.Cut(a.want, "..")
	least, _ := strconv.ParseInt(low, 10, 64)
	most, err := strconv.ParseInt(high, 10, 64)
	switch {
	case !ranged:
	case high == "" && n < least:
		return fmt.Errorf("want %s of %d or more", a.name, least)
	case err == nil && (n < least || n > most):
		return fmt.Errorf("want %s from %d to %d", a.name, least, most)
	}
	return nil
}

// among takes an empty word, too: an argument that is not given is one.
func (a argument) among(word string) error {
	words := strings.Split(a.want, "|")
	if last := len(words) - 1; last > 0 && word != "" && !slices.Contains(words, word) {
		return fmt.Errorf("want %s %s or %s", a.name, strings.Join(words[:last], ", "), words[last])
	}
	return nil
}

// takes names the arguments of a type, in order.
func takes(t reflect.Type) string {
	var names []string
	for a := range arguments(reflect.Zero(t)) {
		names = append(names, a.name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Takes lists the names of the tool's arguments, for the error about an unknown one.
func (c Card) Takes() string { return takes(reflect.TypeOf(c.Args)) }

// Arguments are the decoded arguments of one call.
type Arguments struct{ v reflect.Value }

// Value is a struct of the type of the card's Args.
func (a Arguments) Value() any { return a.v.Interface() }

// Judged is an argument that has a role.
type Judged struct {
	Role  Role
	Text  string // its value, if that is a text
	Given bool
}

// Judged yields the arguments with a role, in order, given or not.
func (a Arguments) Judged() iter.Seq[Judged] {
	return func(yield func(Judged) bool) {
		for x := range arguments(a.v) {
			j := Judged{Role: x.role, Given: x.required || !x.value.IsZero()}
			if text := reflect.Indirect(x.value); text.Kind() == reflect.String {
				j.Text = text.String()
			}
			if x.role != "" && !yield(j) {
				return
			}
		}
	}
}
