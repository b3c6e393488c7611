package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Setting is a change of one key: Value as a text, or Raw as TOML if that is set.
type Setting struct {
	Key   string // dotted: security.autonomy
	Value string
	Raw   string
}

func (s Setting) literal() string {
	if s.Raw != "" {
		return s.Raw
	}
	return strconv.Quote(s.Value)
}

// Edit changes or adds keys in a TOML text and leaves every other byte, comments included, unchanged. If the result
// would not be TOML, the error says why.
func Edit(src []byte, settings []Setting) ([]byte, error) {
	for _, s := range settings {
		src = editOne(src, s)
		if err := toml.Unmarshal(src, new(any)); err != nil {
			return nil, fmt.Errorf("set %s: %s", s.Key, syntaxMessage(err))
		}
	}
	return src, nil
}

// span is where a key's value stands, or where its table ends.
type span struct {
	valueFrom, valueTo int
	tableEnd           int
	found, table       bool
}

func editOne(src []byte, s Setting) []byte {
	table, name := "", s.Key
	if i := strings.LastIndex(s.Key, "."); i >= 0 {
		table, name = s.Key[:i], s.Key[i+1:]
	}
	p := locate(src, table, name)
	line := name + " = " + s.literal() + "\n"
	switch {
	case p.found:
		return splice(src, p.valueFrom, p.valueTo, s.literal())
	case p.table:
		if p.tableEnd > 0 && src[p.tableEnd-1] != '\n' {
			line = "\n" + line
		}
		return splice(src, p.tableEnd, p.tableEnd, line)
	}
	if len(src) > 0 && !bytes.HasSuffix(src, []byte("\n")) {
		src = append(bytes.Clone(src), '\n')
	}
	return append(bytes.Clone(src), "\n["+table+"]\n"+line...)
}

func splice(src []byte, from, to int, text string) []byte {
	out := append([]byte(nil), src[:from]...)
	out = append(out, text...)
	return append(out, src[to:]...)
}

// locate finds the key in its table. The value reaches from behind the = to the end of the expression.
func locate(src []byte, table, name string) span {
	p := span{table: table == ""}
	var parser unstable.Parser
	parser.Reset(src)
	current, k := "", keeper{lines: &lineCount{data: src}, problems: &Problems{}}
	for parser.NextExpression() {
		e := parser.Expression()
		key, _, ok := k.keyOf(e.Key())
		if !ok {
			return p
		}
		if e.Kind == unstable.Table || e.Kind == unstable.ArrayTable {
			current = key
			if current == table {
				p.table, p.tableEnd = true, lineEnd(src, keyStart(&parser, e))
			}
			continue
		}
		if e.Kind != unstable.KeyValue || current != table {
			continue
		}
		start := keyStart(&parser, e)
		from, to := valueSpan(&parser, src, start, e)
		p.tableEnd = lineEnd(src, to)
		if key == name {
			p.valueFrom, p.valueTo, p.found = from, to, true
			return p
		}
	}
	return p
}

func keyStart(p *unstable.Parser, e *unstable.Node) int {
	it := e.Key()
	it.Next()
	return p.Shape(it.Node().Raw).Start.Offset
}

// valueSpan finds the bytes of a value: from behind the = to the end of the last node in it.
func valueSpan(p *unstable.Parser, src []byte, start int, e *unstable.Node) (from, to int) {
	from = start + bytes.IndexByte(src[start:], '=') + 1
	for from < len(src) && (src[from] == ' ' || src[from] == '\t') {
		from++
	}
	end := from
	for end <= len(src) {
		n := bytes.IndexByte(src[end:], '\n')
		if n < 0 {
			end = len(src)
		} else {
			end += n
		}
		if _, ok := value(src[from:end]); ok {
			return from, withoutComment(src, from, end)
		}
		if end == len(src) {
			break
		}
		end++
	}
	return from, lineEnd(src, from)
}

// withoutComment finds the end of the value before a comment and blanks behind it: the shortest text that is the whole
// value.
func withoutComment(src []byte, from, end int) int {
	want, _ := value(src[from:end])
	for to := from + 1; to < end; to++ {
		if c := src[to]; c != ' ' && c != '\t' && c != '#' && c != '\r' {
			continue
		}
		if got, ok := value(src[from:to]); ok && reflect.DeepEqual(got, want) {
			return to
		}
	}
	return end
}

// value decodes the text of a value.
func value(text []byte) (any, bool) {
	var doc struct{ X any }
	err := toml.Unmarshal(append([]byte("X = "), text...), &doc)
	return doc.X, err == nil
}

func lineEnd(src []byte, from int) int {
	if n := bytes.IndexByte(src[from:], '\n'); n >= 0 {
		return from + n + 1
	}
	return len(src)
}
