package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"clawsh/lib/envelope"
)

// maxFileBytes bounds a configuration: far more than anybody writes.
const maxFileBytes = 1 << 20

// maxKeyParts is how many parts a dotted key may have: more than twice as many as any that is known.
const maxKeyParts = 32

// Load reads, completes and checks the configuration. Its error is a *Problems if the file is wrong. A file that is
// missing means the defaults, unless it was named.
func Load(p Paths) (*Config, error) {
	if err := CheckHome(p, nil); err != nil {
		return nil, err
	}
	before := stamp(p.File, rulesPath(p.Home))
	data, found, err := read(p)
	if err != nil {
		return nil, err
	}
	c, err := load(data, found, p)
	if err != nil {
		return nil, err
	}
	c.stamps = before
	if c.elsewhere() {
		if err := CheckHome(p, c); err != nil {
			return nil, err
		}
	}
	if err := c.loadWritten(); err != nil {
		return nil, err
	}
	return c, nil
}

// elsewhere tells whether the memory or the receipts lie where nobody has looked yet.
func (c *Config) elsewhere() bool {
	return c.Memory.Path != filepath.Join(c.Home, "memory.sqlite") ||
		c.Receipts.Path != filepath.Join(c.Home, ReceiptsName)
}

// Check is like Load, for a text that is about to be written to p.File.
func Check(data []byte, p Paths) error {
	_, err := load(data, true, p)
	return err
}

// Default returns the configuration that is used without a file.
func Default(home string) *Config {
	getenv := func(name string) string {
		if name == "HOME" {
			return os.Getenv("HOME")
		}
		return ""
	}
	c, err := load(nil, false, Paths{Home: home, File: home + "/config.toml", getenv: getenv})
	if err != nil {
		return &Config{Home: home, Security: Security{Autonomy: "readonly", WorkspaceOnly: true, AuditLog: true}}
	}
	return c
}

func read(p Paths) ([]byte, bool, error) {
	f, err := os.Open(p.File)
	if errors.Is(err, fs.ErrNotExist) && !p.Explicit {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, envelope.Errorf(envelope.ExitConfig, "config.unreadable", "read the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s is longer than %d bytes", p.File, maxFileBytes)
	}
	if err != nil {
		return nil, false, envelope.Errorf(envelope.ExitConfig, "config.unreadable", "read the configuration: %w", err)
	}
	return data, true, nil
}

func load(data []byte, found bool, p Paths) (*Config, error) {
	problems := &Problems{File: p.File}
	at := keys(data, problems)
	f := defaults()
	var unknown []Problem
	if len(problems.List) == 0 {
		unknown = decode(data, &f, problems)
	}
	c := &Config{Home: p.Home, File: p.File, found: found}
	v := &validator{paths: p, at: at, problems: problems}
	v.check(&f, c)
	p.override(c, problems)
	problems.complete(unknown)
	if len(problems.List) > 0 {
		problems.sort()
		return nil, problems
	}
	c.variables = problems.variables
	p.places(c, f.Workspace)
	return c, nil
}

// position is where a key stands; names of tables and keys are dotted.
type position struct{ line, column int }

// lineCount tells where offsets of a text stand. They come in order, mostly: it reads on from the last one.
type lineCount struct {
	data             []byte
	from, line, head int // the last offset, its line and where that begins
}

func (l *lineCount) at(offset int) position {
	if offset < l.from {
		l.from, l.line, l.head = 0, 0, 0
	}
	passed := l.data[l.from:offset]
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		l.line, l.head = l.line+bytes.Count(passed, []byte("\n")), l.from+i+1
	}
	l.from = offset
	return position{l.line + 1, offset - l.head + 1}
}

// keys finds the place of every key, those that are defined twice, and syntax errors. Keys are compared by their exact
// case, which the decoder does not do. Elements of lists of tables are numbered: security.rules[2].name.
func keys(data []byte, problems *Problems) map[string]position {
	k := keeper{lines: &lineCount{data: data}, at: map[string]position{}, dotted: map[string]bool{}, problems: problems}
	var p unstable.Parser
	p.Reset(data)
	table, length := "", map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		name, pos, ok := k.keyOf(e.Key())
		if !ok {
			return k.at
		}
		switch e.Kind {
		case unstable.Table:
			table = numbered(name, length)
			k.keep(table, pos)
		case unstable.ArrayTable:
			maps.DeleteFunc(length, func(list string, _ int) bool { return strings.HasPrefix(list, name+".") })
			length[name]++
			table = numbered(name, length)
			if length[name] == 1 {
				k.keep(above(table), pos)
			}
			k.keep(table, pos)
		case unstable.KeyValue:
			k.pair(table, name, pos, e.Value())
		}
	}
	if err := p.Error(); err != nil {
		line, column := 1, 1
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			shape := p.Shape(p.Range(pe.Highlight))
			line, column = shape.Start.Line, shape.Start.Column
		}
		problems.List = append(problems.List,
			Problem{Line: line, Column: column, Message: "syntax: " + syntaxMessage(err)})
	}
	return k.at
}

// numbered is a table's name with the number of the last element of each list in it.
func numbered(name string, length map[string]int) string {
	key, list := "", ""
	for part := range parts(name) {
		key, list = join(key, part), join(list, part)
		if n := length[list]; n > 0 {
			key = element(key, n-1)
		}
	}
	return key
}

// keeper notes where keys are, and which tables are made by dotted keys.
type keeper struct {
	lines    *lineCount
	at       map[string]position
	dotted   map[string]bool
	problems *Problems
}

func (k *keeper) keep(key string, pos position) {
	if _, seen := k.at[key]; seen || k.dotted[key] {
		k.problems.List = append(k.problems.List,
			Problem{Line: pos.line, Column: pos.column, Key: asWritten(key), Message: "is defined twice"})
		return
	}
	k.at[key] = pos
}

func (k *keeper) pair(table, name string, pos position, value *unstable.Node) {
	key := join(table, name)
	k.keep(key, pos)
	for within := above(name); within != ""; within = above(within) {
		k.dotted[join(table, within)] = true
	}
	k.value(value, key)
}

// value notes the keys of an inline table, and those of a list of them.
func (k *keeper) value(v *unstable.Node, key string) {
	if v.Kind != unstable.InlineTable && v.Kind != unstable.Array {
		return
	}
	n := 0
	for it := v.Children(); it.Next(); n++ {
		if child := it.Node(); child.Kind == unstable.KeyValue {
			name, pos, ok := k.keyOf(child.Key())
			if !ok {
				return
			}
			k.pair(key, name, pos, child.Value())
		} else {
			k.value(child, element(key, n))
		}
	}
}

// keyOf is a key's name and place. One of too many parts is a problem: what is noted of each level grows with the
// square of them.
func (k *keeper) keyOf(it unstable.Iterator) (name string, pos position, ok bool) {
	var parts []string
	pos = position{1, 1}
	for it.Next() {
		n := it.Node()
		if len(parts) == maxKeyParts {
			k.problems.List = append(k.problems.List, Problem{Line: pos.line, Column: pos.column,
				Message: fmt.Sprintf("a key has more than %d parts", maxKeyParts)})
			return "", pos, false
		}
		if len(parts) == 0 {
			pos = k.lines.at(int(n.Raw.Offset))
		}
		// a dot inside a quoted name is no separator: written so that no known key looks like it
		parts = append(parts, strings.ReplaceAll(string(n.Data), ".", `"."`))
	}
	return strings.Join(parts, "."), pos, true
}

// syntaxMessage keeps a parser's message from quoting the file.
func syntaxMessage(err error) string {
	msg, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "toml: "), ":")
	out := []byte(msg)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}

// decode fills f. The decoder stops at a value of the wrong type, so such values are noted, blanked out, and the rest
// is decoded again: all errors are reported in one pass. It returns the keys that the decoder does not know.
func decode(data []byte, f *file, problems *Problems) (unknown []Problem) {
	models := f.Providers.Models
	f.Providers.Models = nil
	for range 100 {
		var key string
		var bad bool
		if key, unknown, bad = decodeOnce(data, f, problems); !bad {
			break
		}
		var ok bool
		if data, ok = blank(data, key); !ok {
			break
		}
	}
	for name, m := range models {
		if _, ok := f.Providers.Models[name]; !ok {
			if f.Providers.Models == nil {
				f.Providers.Models = map[string]Provider{}
			}
			f.Providers.Models[name] = m
		}
	}
	return unknown
}

// decodeOnce decodes up to the first value of the wrong type, and returns its key; or the keys that are not known.
func decodeOnce(data []byte, f *file, problems *Problems) (key string, unknown []Problem, bad bool) {
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(f)
	var strict *toml.StrictMissingError
	var single *toml.DecodeError
	switch {
	case errors.As(err, &strict): // the validator reports them with suggestions; this is for what it overlooks
		for _, e := range strict.Errors {
			line, column := e.Position()
			unknown = append(unknown, Problem{Line: line, Column: column, Key: strings.Join(e.Key(), "."),
				Message: "is not a known key"})
		}
	case errors.As(err, &single):
		line, column := single.Position()
		key = strings.Join(single.Key(), ".")
		problems.List = append(problems.List, Problem{Line: line, Column: column, Key: key, Message: typeMessage(key)})
		return key, nil, true
	case err != nil:
		problems.List = append(problems.List, Problem{Line: 1, Column: 1, Message: "not valid TOML"})
	}
	return "", unknown, false
}

// blank replaces a key and its value by blanks, so that everything else keeps its place.
func blank(data []byte, key string) ([]byte, bool) {
	table, name := "", key
	if i := strings.LastIndex(key, "."); i >= 0 {
		table, name = key[:i], key[i+1:]
	}
	p := locate(data, table, name)
	if !p.found {
		return data, false
	}
	out := bytes.Clone(data)
	for i := bytes.LastIndexByte(data[:p.valueFrom], '\n') + 1; i < p.valueTo; i++ {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out, true
}

// typeMessage says what a value has to be, without the decoder's Go types and without the value.
func typeMessage(key string) string {
	f, ok := find(key)
	if !ok {
		return "has a value of the wrong type"
	}
	switch what := kind(f.Type); what {
	case "true or false":
		return "want " + what
	case "text":
		return "want a string in quotes"
	default:
		return "want a " + what
	}
}
