package config

import (
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"clawsh/lib/spelling"
)

// The struct tags of the configuration say all that is checked of a key by itself: toml its name, and want its values:
// words with | between them, or numbers as LOW..HIGH, where either may be missing, after 0| if 0 stands for none; kinds
// stands for the kinds of providers. A unit is named where the key's name does not end in it, and why says why there is
// one value only.

// field is a key as the structs declare it. Its key has * for a name of the user's choice.
type field struct {
	key string
	reflect.StructField
}

// fields yields the keys of a table and of all tables below it, each table before what it holds.
func fields(table string, t reflect.Type) iter.Seq[field] {
	return func(yield func(field) bool) {
		for i := range t.NumField() {
			f := field{StructField: t.Field(i)}
			name := f.name()
			if name == "-" {
				continue
			}
			f.key = join(table, name)
			if !yield(f) {
				return
			}
			inner := f.Type
			switch {
			case inner.Kind() == reflect.Map && inner.Elem().Kind() == reflect.Struct:
				f.key, f.Type, inner = f.key+".*", inner.Elem(), inner.Elem()
				if !yield(f) {
					return
				}
			case inner.Kind() == reflect.Slice:
				inner = inner.Elem()
			}
			if inner.Kind() != reflect.Struct {
				continue
			}
			for below := range fields(f.key, inner) {
				if !yield(below) {
					return
				}
			}
		}
	}
}

func (f field) name() string {
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return name
}

// open tells whether a table holds names that are not ours.
func (f field) open() bool {
	return f.Type != nil && f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() != reflect.Struct
}

func join(table, name string) string {
	if table == "" {
		return name
	}
	return table + "." + name
}

// schema are the keys there are.
var schema = sync.OnceValue(func() map[string]*field {
	all := make(map[string]*field, 128)
	for f := range fields("", reflect.TypeFor[file]()) {
		all[f.key] = &f
	}
	return all
})

// find returns the declaration of a key as it stands in a file, and whether there is one. Of a key in an open table
// that is the table.
func find(key string) (*field, bool) {
	at, ok := schema()[key]
	if ok && !strings.Contains(key, "*") {
		return at, true
	}
	at = &field{}
	for part := range parts(key) {
		name, _, _ := strings.Cut(part, "[")
		if at.open() {
			return at, true
		}
		next, ok := schema()[join(at.key, name)]
		if !ok {
			next, ok = schema()[join(at.key, "*")]
		}
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}

// parts yields the names that a dotted key is made of. A dot within a name is quoted (keyOf).
func parts(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := range len(key) + 1 {
			if i == len(key) || key[i] == '.' && (i == 0 || key[i-1] != '"') {
				if !yield(key[from:i]) {
					return
				}
				from = i + 1
			}
		}
	}
}

// siblings are the names in a table.
func siblings(table string) []string {
	prefix := ""
	if f, ok := find(table); table != "" {
		if !ok {
			return nil
		}
		prefix = f.key + "."
	}
	var names []string
	for key := range schema() {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "*" && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// kind says what a value has to be, as a noun without its article.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kind(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "list of tables"
		}
		return "list of " + kind(t.Elem()) + "s"
	case reflect.Map:
		if t.Elem().Kind() == reflect.String {
			return "table of texts"
		}
	}
	return "table"
}

// unit is what a number counts.
func (f field) unit() string {
	if unit := f.Tag.Get("unit"); unit != "" {
		return unit
	}
	for _, u := range [][2]string{{"_s", "seconds"}, {"_bytes", "bytes"}, {"_tokens", "tokens"}} {
		if strings.HasSuffix(f.key, u[0]) {
			return u[1]
		}
	}
	return ""
}

// want is the tag, or the words that it stands for.
func (f field) want() string {
	if want := f.Tag.Get("want"); want != "kinds" {
		return want
	}
	return strings.Join(ProviderKinds(), "|")
}

// limits are the numbers that the tag allows, and whether 0 is one beside them.
func (f field) limits() (low, high float64, zero bool) {
	text, zero := strings.CutPrefix(f.want(), "0|")
	from, to, _ := strings.Cut(text, "..")
	low, high = -math.MaxFloat64, math.MaxFloat64
	if n, err := strconv.ParseFloat(from, 64); err == nil {
		low = n
	}
	if n, err := strconv.ParseFloat(to, 64); err == nil {
		high = n
	}
	return low, high, zero
}

// wanted says in words what the tag allows, "" if it says nothing.
func (f field) wanted() string {
	want := f.want()
	text, zero := strings.CutPrefix(want, "0|")
	from, to, ranged := strings.Cut(text, "..")
	switch {
	case !ranged:
		return spelling.Or(strings.Split(want, "|"))
	case to == "":
		text = from + " or more"
	default:
		text = from + " to " + to
	}
	if zero {
		text += ", or 0 for never"
	}
	return text
}
