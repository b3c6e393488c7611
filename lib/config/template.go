package config

import (
	_ "embed" // template.txt
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// template is the configuration that init writes, but for the values: a line that has a key without one gets the
// default. The comment beside a key, or else the one above it, documents the key.
//
//go:embed template.txt
var template string

// Template returns the configuration that init writes: the defaults, explained.
func Template() []byte {
	d := reflect.ValueOf(defaults())
	var out []byte
	for l := range templateLines() {
		if l.name != "" && l.value == "" {
			out = l.append(out, d)
		} else {
			out = append(out, l.text...)
		}
	}
	return out
}

// Key is a key of the configuration, or a table of it, as it is documented.
type Key struct {
	Name    string // dotted; * stands for a name of the user's choice
	Type    string // text, number, list of texts, table …
	Default string // in TOML; "" where there is none
	Want    string // what values there are, in words; "" where any of the type is one
	Example string // where there is no default
	Unit    string // bytes, seconds, tokens
	Doc     string // what it is for
}

// Table is the name of the table that the key is in, "" outside of tables.
func (k Key) Table() string { return above(k.Name) }

// Keys returns every key, each table before its keys.
func Keys() []Key {
	told, d := map[string]templateLine{}, reflect.ValueOf(defaults())
	for l := range templateLines() {
		if f, ok := find(l.key); ok && told[f.key].doc == "" {
			told[f.key] = l
		}
	}
	var all []Key
	for f := range fields("", reflect.TypeFor[file]()) {
		k := Key{Name: f.key, Type: kind(f.Type), Want: f.wanted(), Unit: f.unit(), Doc: told[f.key].doc,
			Example: told[f.key].value}
		if v := valueOf(d, f.key); v.IsValid() && !strings.HasPrefix(k.Type, "table") {
			k.Default, k.Example = literal(v), ""
		}
		all = append(all, k)
	}
	return all
}

// templateLine is a line of the template. Where it is about a key, or begins a table, that is key, and name what a pair
// begins with; doc is what its comment says.
type templateLine struct {
	text, key, name, value, doc string
}

// templateLines yields the lines of the template. A commented key documents as any other.
func templateLines() iter.Seq[templateLine] {
	return func(yield func(templateLine) bool) {
		table, above := "", ""
		for text := range strings.Lines(template) {
			l := templateLine{text: text}
			bare, commented := strings.CutPrefix(strings.TrimSpace(text), "# ")
			code, comment, _ := strings.Cut(bare, " # ")
			name, value, _ := strings.Cut(strings.TrimSpace(code), " = ")
			switch {
			case strings.HasPrefix(name, "["):
				table = strings.Trim(name, "[]")
				l.key, l.doc, above = table, above, ""
			case made(name, 64, lower, lower+"_") && (!commented || value != ""):
				l.name, l.key, l.value = name, join(table, name), value
				l.doc, above = strings.TrimSpace(above+" "+comment), ""
			case commented:
				above = strings.TrimSpace(above + " " + bare)
			default:
				above = ""
			}
			if !yield(l) {
				return
			}
		}
	}
}

// append writes the line with the default of its key.
func (l templateLine) append(out []byte, defaults reflect.Value) []byte {
	pair := l.name + " = " + literal(valueOf(defaults, l.key))
	if _, comment, ok := strings.Cut(l.text, " # "); ok {
		return fmt.Appendf(out, "%-40s # %s", pair, comment)
	}
	return append(append(out, pair...), '\n')
}

// valueOf is the value of a key in a table; the zero Value where there is none.
func valueOf(table reflect.Value, key string) reflect.Value {
	for name := range parts(key) {
		switch {
		case !table.IsValid():
			return table
		case table.Kind() == reflect.Map:
			table = table.MapIndex(reflect.ValueOf(name))
		case table.Kind() == reflect.Struct:
			table = table.FieldByNameFunc(func(f string) bool {
				sf, _ := table.Type().FieldByName(f)
				return field{StructField: sf}.name() == name
			})
		default:
			return reflect.Value{}
		}
	}
	return table
}

// literal writes a value as TOML, "" if it is none of a key.
func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return tomlText(v.String())
	case reflect.Bool, reflect.Int, reflect.Int64:
		return fmt.Sprint(v)
	case reflect.Float64:
		text := strconv.FormatFloat(v.Float(), 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case reflect.Slice:
		if items, ok := v.Interface().([]string); ok {
			return list(items)
		}
	}
	return ""
}

// list writes a TOML list over as many lines as it needs.
func list(items []string) string {
	line, out := "", []string{}
	for _, s := range items {
		item := tomlText(s) + ", "
		if len(line)+len(item) > 110 {
			out = append(out, strings.TrimRight(line, " "))
			line = ""
		}
		line += item
	}
	out = append(out, strings.TrimSuffix(line, ", "))
	if len(out) == 1 {
		return "[" + out[0] + "]"
	}
	return "[\n  " + strings.Join(out, "\n  ") + ",\n]"
}

// DisplayTOML returns the current configuration as TOML that can be loaded again. It contains no secrets, only names
// of variables.
func (c *Config) DisplayTOML() string {
	b, err := toml.Marshal(file{Workspace: c.Workspace.Mode, WorkspaceDir: c.Workspace.Fixed,
		DefaultProvider: c.DefaultProvider, DefaultModel: c.DefaultModel,
		DefaultAgent: c.DefaultAgent, Security: c.Security, Sandbox: c.Sandbox, Limits: c.Limits, Usage: c.Usage,
		Context: c.Context, Channels: c.Channels, Memory: c.Memory, Receipts: c.Receipts,
		Agents: c.Agents, Providers: providers{c.Providers}})
	if err != nil {
		return fmt.Sprintf("# cannot be shown: %v\n", err)
	}
	return string(b)
}
