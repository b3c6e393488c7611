package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"clawsh/lib/envelope"
)

// maxFileBytes bounds a configuration: far more than anybody writes.
const maxFileBytes = 1 << 20

// Load reads, completes and checks the configuration. Its error is a *Problems if the file is wrong. A file that is missing
// means the defaults, unless it was named.
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
	return c.Memory.Path != filepath.Join(c.Home, "memory.sqlite") || c.Receipts.Path != filepath.Join(c.Home, ReceiptsName)
}

// Check is Load for a text that is about to be written to p.File.
func Check(data []byte, p Paths) error {
	_, err := load(data, true, p)
	return err
}

// Default is the configuration that is in force without a file.
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

// keys finds the place of every key, and syntax errors. Keys are compared by their exact case, which the decoder does not.
func keys(data []byte, problems *Problems) map[string]position {
	at := map[string]position{}
	var p unstable.Parser
	p.Reset(data)
	table, lines := "", &lineCount{data: data}
	for p.NextExpression() {
		e := p.Expression()
		name, pos := keyOf(lines, e.Key())
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = name
			if _, seen := at[name]; !seen {
				at[name] = pos
			}
		case unstable.KeyValue:
			full := strings.TrimPrefix(table+"."+name, ".")
			at[full] = pos
			inline(lines, e.Value(), full, at)
		}
	}
	if err := p.Error(); err != nil {
		line, column := 1, 1
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			shape := p.Shape(p.Range(pe.Highlight))
			line, column = shape.Start.Line, shape.Start.Column
		}
		problems.List = append(problems.List, Problem{Line: line, Column: column, Message: "syntax: " + syntaxMessage(err)})
	}
	return at
}

// inline notes the keys of an inline table.
func inline(lines *lineCount, v *unstable.Node, prefix string, at map[string]position) {
	if v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		kv := it.Node()
		if kv.Kind == unstable.KeyValue {
			name, pos := keyOf(lines, kv.Key())
			at[prefix+"."+name] = pos
			inline(lines, kv.Value(), prefix+"."+name, at)
		}
	}
}

func keyOf(lines *lineCount, it unstable.Iterator) (string, position) {
	var parts []string
	pos := position{1, 1}
	for it.Next() {
		n := it.Node()
		if len(parts) == 0 {
			pos = lines.at(int(n.Raw.Offset))
		}
		// a dot inside a quoted name is no separator: written so that no known key looks like it
		parts = append(parts, strings.ReplaceAll(string(n.Data), ".", `"."`))
	}
	return strings.Join(parts, "."), pos
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

// decode fills f. The decoder stops at a value of the wrong type, so such values are noted, blanked out, and the rest is
// decoded again: all errors are reported in one pass.
// It returns the keys that the decoder does not know.
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
			unknown = append(unknown, Problem{Line: line, Column: column, Key: strings.Join(e.Key(), "."), Message: "is not a known key"})
		}
	case errors.As(err, &single):
		line, column := single.Position()
		key = strings.Join(single.Key(), ".")
		problems.List = append(problems.List, Problem{Line: line, Column: column, Key: key, Message: typeMessage(single)})
		return key, nil, true
	case err != nil:
		problems.List = append(problems.List, Problem{Line: 1, Column: 1, Message: "it cannot be read as TOML"})
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

// typeMessage says that a value has the wrong type, without the decoder's Go types and without the value.
func typeMessage(err *toml.DecodeError) string {
	text := err.Error()
	if _, into, ok := strings.Cut(text, "type "); ok {
		text = "into " + into
	}
	for _, w := range [][2]string{{"[]", "want a list"}, {"map", "want a table"}, {"struct", "want a table"}, {"bool", "want true or false"},
		{"int", "want a whole number"}, {"float", "want a number"}, {"string", "want a text in quotes"}, {"config.", "want a table"}} {
		if _, after, ok := strings.Cut(text, "into"); ok && strings.Contains(after, w[0]) {
			return w[1]
		}
	}
	if strings.Contains(text, "already") || strings.Contains(text, "duplicate") || strings.Contains(text, "redefin") {
		return "is defined twice"
	}
	return "has a value of the wrong type"
}
