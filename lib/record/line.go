package record

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Reasons for rejecting a line or an added field. Parse wraps them; test with errors.Is.
var (
	ErrTooLong     = errors.New("line is too long")
	ErrSyntax      = errors.New("not a JSON object on one line")
	ErrTooDeep     = errors.New("nesting is too deep")
	ErrNoKind      = errors.New("no kind")
	ErrNameCase    = errors.New("name differs only in case from a known one")
	ErrFieldExists = errors.New("field exists already")
	ErrNumber      = errors.New("number cannot be represented exactly")
)

// Line is one validated record. It refers to the bytes that it was parsed from: to keep a Line longer than its
// buffer, Clone it.
type Line struct {
	raw  []byte
	kind Kind
}

// Parse validates one line, given without its newline. The result refers to b.
func Parse(b []byte) (Line, error) {
	if len(b) > MaxLineBytes {
		return Line{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, len(b), MaxLineBytes)
	}
	v := jsontext.Value(b)
	if v.Kind() != '{' || !v.IsValid() {
		return Line{}, syntaxError(b)
	}
	if d := depth(b); d > MaxDepth {
		return Line{}, fmt.Errorf("%w: %d levels, at most %d", ErrTooDeep, d, MaxDepth)
	}
	line := Line{raw: b}
	for name, value := range members(b) {
		if k, ok := knownNameOfOtherCase(name); ok {
			return Line{}, fmt.Errorf("%w: %q is not %q", ErrNameCase, name, k)
		}
		if string(name) == "kind" {
			line.kind = Kind(text(value))
		}
	}
	if line.kind == "" {
		return Line{}, fmt.Errorf(`%w: want {"kind":"…",…}`, ErrNoKind)
	}
	return line, nil
}

// Clone returns a Line with bytes of its own.
func (l Line) Clone() Line { return Line{raw: bytes.Clone(l.raw), kind: l.kind} }

// Kind returns the record's kind; it is empty only for the zero Line.
func (l Line) Kind() Kind { return l.kind }

// Bytes returns the record as it came, without a newline.
func (l Line) Bytes() []byte { return l.raw }

// ID returns the record's id, or "".
func (l Line) ID() string { return l.Text("id") }

// Field returns the raw value of a top-level field. It refers to the line's bytes.
func (l Line) Field(name string) (Raw, bool) {
	for n, value := range members(l.raw) {
		if string(n) == name {
			return value, true
		}
	}
	return nil, false
}

// Text returns the value of a top-level field that is a string, or "".
func (l Line) Text(name string) string {
	v, _ := l.Field(name)
	return text(v)
}

// Field is a name and a value to insert into a line. Value is anything that Encode accepts.
type Field struct {
	Name  string
	Value any
}

// With returns the line's bytes with fields added before the closing brace; every other byte stays. If a field is
// already there, the error is ErrFieldExists: nobody can smuggle in a verdict, or replace one.
func (l Line) With(fields ...Field) ([]byte, error) {
	end := bytes.LastIndexByte(l.raw, '}')
	if end < 0 {
		return nil, fmt.Errorf("add fields to a record: %w", ErrSyntax)
	}
	out := make([]byte, 0, len(l.raw)+256)
	out = append(out, l.raw[:end]...)
	for i, f := range fields {
		if _, ok := l.Field(f.Name); ok || named(fields[:i], f.Name) {
			return nil, fmt.Errorf("add %q to %s record: %w", f.Name, l.kind, ErrFieldExists)
		}
		var err error
		if out, err = appendMember(out, f); err != nil {
			return nil, err
		}
	}
	return append(out, l.raw[end:]...), nil
}

// As is like With, and also changes the record's kind, as when a tool_call becomes a tool_result.
func (l Line) As(kind Kind, fields ...Field) ([]byte, error) {
	old, ok := l.Field("kind")
	if !ok {
		return nil, fmt.Errorf("change the kind of a record: %w", ErrNoKind)
	}
	encoded, err := Encode(string(kind))
	if err != nil {
		return nil, err
	}
	at := cap(l.raw) - cap(old) // old is a slice of raw, so the difference is where it starts
	raw := make([]byte, 0, len(l.raw)+len(encoded))
	raw = append(raw, l.raw[:at]...)
	raw = append(raw, encoded...)
	raw = append(raw, l.raw[at+len(old):]...)
	return Line{raw: raw, kind: kind}.With(fields...)
}

func named(fields []Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

func appendMember(dst []byte, f Field) ([]byte, error) {
	name, err := Encode(f.Name)
	if err != nil {
		return nil, err
	}
	value, err := Encode(f.Value)
	if err != nil {
		return nil, fmt.Errorf("encode field %q: %w", f.Name, err)
	}
	if last := bytes.TrimRight(dst, " \t\r\n"); last[len(last)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, name...)
	dst = append(dst, ':')
	return append(dst, value...), nil
}

// syntaxError says where b stops being a JSON object, without quoting it: the input may contain anything.
func syntaxError(b []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	if d.PeekKind() != '{' {
		return fmt.Errorf("%w: does not start with {", ErrSyntax)
	}
	if err := d.SkipValue(); err != nil {
		var se *jsontext.SyntacticError
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("%w: duplicate name near byte %d", ErrSyntax, d.InputOffset())
		}
		if errors.As(err, &se) {
			return fmt.Errorf("%w: %s at byte %d", ErrSyntax, printable(se.Err), se.ByteOffset)
		}
		return fmt.Errorf("%w: near byte %d", ErrSyntax, d.InputOffset())
	}
	return fmt.Errorf("%w: data after the object at byte %d", ErrSyntax, d.InputOffset())
}

// printable reduces a codec's message to printable ASCII: it may quote a character of the input.
func printable(err error) string {
	if err == nil {
		return "invalid JSON"
	}
	out := []byte(err.Error())
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}

// knownNameOfOtherCase finds the known name that differs from name only in case, as a decoder that folds case would.
func knownNameOfOtherCase(name []byte) (string, bool) {
	plain := true
	for _, c := range name {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain || len(name) > 3*len("raw_provider_payload") {
		return "", false
	}
	k := string(bytes.Map(foldRune, name))
	_, ok := knownNames[k]
	return k, ok
}

// foldRune maps all runes that are equal under Unicode's simple case folding to one of them: K and U+212A to k.
func foldRune(r rune) rune {
	low := r
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		low = min(low, o)
	}
	return unicode.ToLower(low)
}
